import { createHash } from "node:crypto";

/** 64 bits of a hash over a value's JSON, independent of the order of its keys. */
export function fingerprint(value: unknown): string {
  return createHash("sha256").update(canonical(value)).digest("hex").slice(0, 16);
}

function canonical(value: unknown): string {
  if (typeof value !== "object" || value === null) {
    return JSON.stringify(value) ?? "null";
  }
  if (Array.isArray(value)) {
    return `[${value.map(canonical).join(",")}]`;
  }
  const entries = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`);
  return `{${entries.join(",")}}`;
}

/** The fields of a run's start that are compared. */
export interface StartFields {
  readonly name: unknown;
  readonly run_type: unknown;
  readonly inputs: unknown;
  readonly metadata: unknown;
}

/** The fields of a run's end that are compared. */
export interface EndFields {
  readonly outputs: unknown;
  readonly error: unknown;
}

export const startFingerprint = ({ name, run_type, inputs, metadata }: StartFields): string =>
  fingerprint([name, run_type, inputs, metadata]);

export const fileFingerprint = (bytes: Uint8Array): string =>
  createHash("sha256").update(bytes).digest("hex").slice(0, 16);

export const endFingerprint = ({ outputs, error }: EndFields): string =>
  fingerprint([outputs ?? null, error ?? null]);

import { createHash } from "node:crypto";

/** 64 bits of a hash over what JSON says of a value, whatever the order of its keys. */
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

/** What a run's start says of it, as it should arrive. */
export interface StartFacts {
  readonly name: unknown;
  readonly run_type: unknown;
  readonly inputs: unknown;
  readonly metadata: unknown;
}

/** What a run's end says of it. */
export interface EndFacts {
  readonly outputs: unknown;
  readonly error: unknown;
}

export const startPrint = ({ name, run_type, inputs, metadata }: StartFacts): string =>
  fingerprint([name, run_type, inputs, metadata]);

export const filePrint = (bytes: Uint8Array): string =>
  createHash("sha256").update(bytes).digest("hex").slice(0, 16);

export const endPrint = ({ outputs, error }: EndFacts): string =>
  fingerprint([outputs ?? null, error ?? null]);

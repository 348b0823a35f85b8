import { hash } from "node:crypto";

/** A JSON value as text, its keys sorted: two values are equal when their texts are. */
export const canonicalJson = (value: unknown): string => {
  if (Array.isArray(value)) {
    return `[${value.map(canonicalJson).join(",")}]`;
  }
  if (typeof value !== "object" || value === null) {
    return JSON.stringify(value) ?? "null";
  }
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
  return `{${members.join(",")}}`;
};

/** What is kept of a value, to compare it later without keeping it. */
export interface Digest {
  readonly hash: string;
  /** UTF-8 bytes of the canonical text. */
  readonly sizeBytes: number;
}

/** The digest of a JSON value. */
export const digest = (value: unknown): Digest => {
  const text = canonicalJson(value);
  return { hash: hash("sha256", text, "base64"), sizeBytes: Buffer.byteLength(text) };
};

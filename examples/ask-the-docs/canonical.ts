import { hash } from "node:crypto";

/** Formats a JSON value with sorted keys. Two values are equal if their canonical texts are equal. */
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

/** A digest of a value, to compare the value later without keeping it in memory. */
export interface Digest {
  readonly hash: string;
  /** Size of the canonical text in UTF-8, bytes. */
  readonly sizeBytes: number;
}

/** The digest of a JSON value. */
export const digest = (value: unknown): Digest => {
  const text = canonicalJson(value);
  return { hash: hash("sha256", text, "base64"), sizeBytes: Buffer.byteLength(text) };
};

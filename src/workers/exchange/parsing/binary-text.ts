import { isJsonObject, setMember } from "./json-object.ts";
import type { JsonObject, MutableJsonObject } from "./json-object.ts";

/**
 * Vectors with at most this many numbers are recorded. For longer vectors, only the number of dimensions is recorded.
 */
const maxVectorLength = 16;
const bytesPerNumber = 4;

/** Returns the text that replaces base64 in a recorded payload: the type and the size of the data. */
export const describeBase64 = (base64: string, type: string): string =>
  `[${type}, ${countBytes(base64)} bytes, not recorded]`;

/**
 * Returns the number of bytes that a base64 text encodes. A text that was joined from pieces that were encoded
 * separately may contain padding between them.
 */
function countBytes(base64: string): number {
  let digits = 0;
  for (let index = 0; index < base64.length; index += 1) {
    const unit = base64.charCodeAt(index);
    // Padding (`=`) and white space encode nothing.
    digits += unit === 0x3d || unit <= 0x20 ? 0 : 1;
  }
  return Math.floor((digits * 3) / 4);
}

/** Replaces a vector, as numbers or as base64 of 32-bit floats, by the number of its dimensions if it is long. */
export function describeVector(vector: unknown): unknown {
  if (Array.isArray(vector)) {
    return vector.length <= maxVectorLength ? vector : `[${vector.length} numbers, not recorded]`;
  }
  if (typeof vector === "string") {
    const length = Math.floor(countBytes(vector) / bytesPerNumber);
    return length <= maxVectorLength ? vector : `[${length} numbers, not recorded]`;
  }
  return vector;
}

/** Returns a new text for a member with this key, or `undefined` to keep the member. */
export type ReplaceText = (text: string, key: string, owner: JsonObject) => string | undefined;

/** Maximum nesting depth at which texts are replaced. */
const maxDepth = 40;

/** Copies a value, with some of its texts replaced. Returns the value itself if no text is replaced. */
export function replaceTexts(value: unknown, replace: ReplaceText, depth = 0): unknown {
  if (depth > maxDepth || typeof value !== "object" || value === null) {
    return value;
  }
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => replaceTexts(item, replace, depth + 1));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  if (!isJsonObject(value)) {
    return value;
  }
  let copy: MutableJsonObject | undefined;
  for (const [key, member] of Object.entries(value)) {
    const replaced =
      typeof member === "string"
        ? (replace(member, key, value) ?? member)
        : replaceTexts(member, replace, depth + 1);
    if (replaced !== member) {
      copy ??= { ...value };
      setMember(copy, key, replaced);
    }
  }
  return copy ?? value;
}

import type { KeyValues } from "../../model/run.ts";
import { reasonOf } from "./object-kinds.ts";

/**
 * Converts inputs or outputs into an object: a plain object is returned unchanged, any other value is wrapped as the
 * value of `key`, and `undefined` stays `undefined`.
 */
export function toPayload(value: unknown, key: "input" | "outputs"): KeyValues | undefined {
  if (value === undefined) {
    return undefined;
  }
  if (isPlainObject(value)) {
    return value;
  }
  // These are two object literals, because an object with a computed key takes ten times as long to create.
  return key === "input" ? { input: value } : { outputs: value };
}

/**
 * Whether a value is a plain object: an object literal or an object without a prototype, of any realm. Never throws.
 */
export function isPlainObject(value: unknown): value is KeyValues {
  if (typeof value !== "object" || value === null) {
    return false;
  }
  try {
    if (Array.isArray(value)) {
      return false;
    }
    if (value.constructor === Object) {
      // This check is enough for most objects, and is faster than `Object.getPrototypeOf`, which calls into the
      // runtime.
      return true;
    }
    const prototype: unknown = Object.getPrototypeOf(value);
    return (
      prototype === null ||
      prototype === Object.prototype ||
      Object.getPrototypeOf(prototype) === null
    );
  } catch {
    // The value is a proxy that throws when it is read. The caller treats it like any other value that is not plain.
    return false;
  }
}

/**
 * Returns the strings in `tags`; `undefined` if it is not an array. If reading the array throws, returns a single tag
 * with the reason.
 */
export function toTags(tags: unknown): readonly string[] | undefined {
  try {
    if (!Array.isArray(tags)) {
      return undefined;
    }
    return tags.every(isString) ? tags : tags.filter(isString);
  } catch (error) {
    // `tags` is a proxy that throws when it is read. Only the tags are lost, not the run's other options.
    return [createUnreadableMarker(error)];
  }
}

/** Returns a plain object unchanged, a marker for a revoked proxy, and `undefined` for any other value. */
export function toMetadata(metadata: unknown): KeyValues | undefined {
  if (isPlainObject(metadata)) {
    return metadata;
  }
  return isRevokedProxy(metadata) ? { millrace_error: "[unserializable: metadata]" } : undefined;
}

/** Whether a value is a revoked proxy, on which every operation throws. */
export function isRevokedProxy(value: unknown): boolean {
  try {
    // The condition is never true. It only uses the result of `isArray`, because a bundler may remove a call whose
    // result is not used.
    return Array.isArray(value) && typeof value !== "object";
  } catch {
    // `Array.isArray` throws only for a revoked proxy.
    return true;
  }
}

const createUnreadableMarker = (error: unknown): string => `[unserializable: ${reasonOf(error)}]`;

const isString = (value: unknown): value is string => typeof value === "string";

/** Joins two lists of tags without duplicates. */
export const mergeTags = (
  first: readonly string[] | undefined,
  second: readonly string[] | undefined,
): readonly string[] | undefined =>
  first === undefined || second === undefined
    ? (first ?? second)
    : [...new Set([...first, ...second])];

/** Merges two objects; keys of `second` take precedence. If `second` can't be read, a marker takes its place. */
export function mergeMetadata(
  first: KeyValues | undefined,
  second: KeyValues | undefined,
): KeyValues | undefined {
  if (first === undefined || second === undefined) {
    return first ?? second;
  }
  try {
    return { ...first, ...second };
  } catch (error) {
    return { ...first, millrace_error: createUnreadableMarker(error) };
  }
}

import type { KeyValues } from "../model/run.ts";

/**
 * The one rule for inputs and outputs: a plain object is itself, anything else is the value of
 * one key, and `undefined` is nothing.
 */
export function toPayload(value: unknown, key: "input" | "outputs"): KeyValues | undefined {
  if (value === undefined) {
    return undefined;
  }
  if (isPlainObject(value)) {
    return value;
  }
  // Two literals, because a computed key costs ten times as much.
  return key === "input" ? { input: value } : { outputs: value };
}

/** An object literal, or one without a prototype; of any realm. Never throws. */
export function isPlainObject(value: unknown): value is KeyValues {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return false;
  }
  try {
    if (value.constructor === Object) {
      // Asking for the prototype is a call into the runtime; this is not, and as good.
      return true;
    }
    const prototype: unknown = Object.getPrototypeOf(value);
    return (
      prototype === null ||
      prototype === Object.prototype ||
      Object.getPrototypeOf(prototype) === null
    );
  } catch {
    // A proxy that refuses to be looked at; nothing is lost, it becomes the value of a key.
    return false;
  }
}

/** The strings of a list; `undefined` for anything that is no list of strings. */
export function toTags(tags: unknown): readonly string[] | undefined {
  if (!Array.isArray(tags)) {
    return undefined;
  }
  return tags.every(isString) ? tags : tags.filter(isString);
}

const isString = (value: unknown): value is string => typeof value === "string";

/** Both lists, each tag once. */
export const mergeTags = (
  first: readonly string[] | undefined,
  second: readonly string[] | undefined,
): readonly string[] | undefined =>
  first === undefined || second === undefined
    ? (first ?? second)
    : [...new Set([...first, ...second])];

/** Both objects, the second's keys first in right. */
export const mergeMetadata = (
  first: KeyValues | undefined,
  second: KeyValues | undefined,
): KeyValues | undefined =>
  first === undefined || second === undefined ? (first ?? second) : { ...first, ...second };

import type { KeyValues } from "../../model/run.ts";
import { reasonOf } from "./object-kinds.ts";

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
  if (typeof value !== "object" || value === null) {
    return false;
  }
  try {
    if (Array.isArray(value)) {
      return false;
    }
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
  try {
    if (!Array.isArray(tags)) {
      return undefined;
    }
    return tags.every(isString) ? tags : tags.filter(isString);
  } catch (error) {
    // A proxy that refuses to be looked at: it costs itself, not the run's other options.
    return [unreadable(error)];
  }
}

/** A plain object; a marker for one that can't be looked at, `undefined` for anything else. */
export function toMetadata(metadata: unknown): KeyValues | undefined {
  if (isPlainObject(metadata)) {
    return metadata;
  }
  return isUnreadable(metadata) ? { millrace_error: "[unserializable: metadata]" } : undefined;
}

/** Whether a value is a revoked proxy, on which every operation throws. */
export function isUnreadable(value: unknown): boolean {
  try {
    Array.isArray(value);
    return false;
  } catch {
    // It throws for a revoked proxy alone.
    return true;
  }
}

const unreadable = (error: unknown): string => `[unserializable: ${reasonOf(error)}]`;

const isString = (value: unknown): value is string => typeof value === "string";

/** Both lists, each tag once. */
export const mergeTags = (
  first: readonly string[] | undefined,
  second: readonly string[] | undefined,
): readonly string[] | undefined =>
  first === undefined || second === undefined
    ? (first ?? second)
    : [...new Set([...first, ...second])];

/** Both objects, the second's keys first in right; a marker for the second where it can't be read. */
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
    return { ...first, millrace_error: unreadable(error) };
  }
}

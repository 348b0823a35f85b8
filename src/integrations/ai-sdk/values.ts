import type { KeyValues } from "../../main/index.ts";

// The AI SDK's events and spans differ between its versions, so these functions check the type of every member.

/** Whether a value is an object, and not a list. */
export const isObject = (value: unknown): value is KeyValues =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);

/** Returns the value if it is a non-empty string, otherwise `undefined`. */
export const readText = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

/** Returns the value if it is a finite number, otherwise `undefined`. */
export const readNumber = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) ? value : undefined;

/** Returns an object unchanged, and an empty object for any other value. */
export const readObject = (value: unknown): KeyValues => (isObject(value) ? value : {});

/** Parses a string as JSON. Any other value, and a string that is not JSON, is returned unchanged. */
export function parseJson(value: unknown): unknown {
  if (typeof value !== "string") {
    return value;
  }
  try {
    return JSON.parse(value);
  } catch {
    return value; // The string itself is recorded.
  }
}

/** Copies an object without the members that are `undefined`. */
export const withoutUndefined = (members: KeyValues): KeyValues =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));

/** Returns an object unchanged, and any other value as an object with one member of the given name. */
export function toMembers(value: unknown, name: string): KeyValues {
  if (isObject(value)) {
    return value;
  }
  return value === undefined ? {} : { [name]: value };
}

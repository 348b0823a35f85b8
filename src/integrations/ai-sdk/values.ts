import type { KeyValues } from "../../main/index.ts";

// The AI SDK's events and spans differ between its versions, so nothing in them is taken for granted.

export const isObject = (value: unknown): value is KeyValues =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);

/** The value if it is a text that is not empty. */
export const readText = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

export const readNumber = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) ? value : undefined;

/** The members of an object; none if the value is not an object. */
export const readObject = (value: unknown): KeyValues => (isObject(value) ? value : {});

/** Parses a JSON text. Any other value, and a text that is not JSON, is returned unchanged. */
export function parseJson(value: unknown): unknown {
  if (typeof value !== "string") {
    return value;
  }
  try {
    return JSON.parse(value);
  } catch {
    return value; // The text itself is recorded.
  }
}

/** Leaves out the members that are `undefined`. */
export const withoutUndefined = (members: KeyValues): KeyValues =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));

/** The members of an object, or any other value as one member. */
export function toMembers(value: unknown, name: string): KeyValues {
  if (isObject(value)) {
    return value;
  }
  return value === undefined ? {} : { [name]: value };
}

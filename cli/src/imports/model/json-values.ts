import type { KeyValues } from "millrace/model";

// Functions that read JSON from other servers. They treat a value of an unexpected type as absent.

/** Whether a value is an object, and not a list. */
export const isObject = (value: unknown): value is KeyValues =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns an object unchanged, and an empty object for any other value. */
export const toObject = (value: unknown): KeyValues => (isObject(value) ? value : {});

/** Returns a list unchanged, and an empty list for any other value. */
export const toList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Returns the objects of a list; an empty list for any other value. */
export const toObjects = (value: unknown): readonly KeyValues[] => toList(value).filter(isObject);

/** Returns the value if it is a text that is not empty, otherwise `undefined`. */
export const toText = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

/** Reads a number, or a text that contains a number, because costs are sent as decimal texts. */
export function toNumber(value: unknown): number | undefined {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : undefined;
}

/** Returns the texts of a list; an empty list for any other value. */
export const toTexts = (value: unknown): readonly string[] =>
  toList(value).filter((item) => typeof item === "string");

/** Reads a time in ISO 8601 format. Adds the zone if it is missing, because some servers leave it out for UTC. */
export function toTime(value: unknown): string | undefined {
  const text = toText(value);
  if (text === undefined || Number.isNaN(Date.parse(text))) {
    return undefined;
  }
  return /(?:Z|[+-]\d{2}:?\d{2})$/i.test(text) || !text.includes("T") ? text : `${text}Z`;
}

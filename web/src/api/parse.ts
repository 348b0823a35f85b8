// Parsers for untrusted values: responses of the server, and the queries of URLs.

export type JsonMembers = Readonly<Record<string, unknown>>;

/** The members of an object; empty if the value is not an object. */
export const toRecord = (value: unknown): JsonMembers =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as JsonMembers)
    : {};

export const toText = (value: unknown): string | undefined =>
  typeof value === "string" ? value : undefined;

export const toNumber = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) ? value : undefined;

/**
 * The items of a response that must be an array. `itemLabel` describes the items in the error message.
 *
 * @throws TypeError the response is not an array.
 */
export function requireItems(value: unknown, itemLabel: string): readonly unknown[] {
  if (!Array.isArray(value)) {
    throw new TypeError(`The response contains no list of ${itemLabel}.`);
  }
  return value;
}

/** The items of an array; empty if the value is not an array. */
export const toItems = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export const toTexts = (value: unknown): readonly string[] =>
  toItems(value).filter((item) => typeof item === "string");

/** @throws TypeError the member is not a string. */
export function requireText(members: JsonMembers, name: string): string {
  const text = toText(members[name]);
  if (text === undefined) {
    throw new TypeError(`The response contains no text "${name}".`);
  }
  return text;
}

/**
 * A text in the URL's query. The router parses `?q=12` as a number and `?q=true` as a boolean, which this
 * function converts back. Returns `undefined` for an empty text.
 */
export function toSearchText(value: unknown): string | undefined {
  const text =
    typeof value === "number" || typeof value === "boolean" ? String(value) : toText(value);
  return text === "" ? undefined : text;
}

/** Whether a value in a URL is a valid id (a UUID). */
export const isId = (value: unknown): value is string =>
  typeof value === "string" && /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(value);

/** Returns the value if it is one of `values`, else `undefined`. */
export const parseChoice = <Value extends string>(
  value: unknown,
  values: readonly Value[],
): Value | undefined => values.find((candidate) => candidate === value);

/** Removes the members that are `undefined`: `exactOptionalPropertyTypes` does not accept them for optional members. */
export const omitUndefined = <Row extends object>(
  row: Row,
): { [Name in keyof Row]?: Exclude<Row[Name], undefined> } =>
  Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined)) as {
    [Name in keyof Row]?: Exclude<Row[Name], undefined>;
  };

import { isUuid } from "millrace/model";
import { RequestError } from "../model/errors.ts";
import { parseOptionalTime, parseTimeBound } from "../model/parse-time.ts";
import { describeExcess } from "../filter/json-bounds.ts";

/** The parsed query string. A parameter that occurs several times has a list of values. */
export type QueryString = Readonly<Record<string, string | readonly string[] | undefined>>;

type JsonObject = Readonly<Record<string, unknown>>;

/** Returns the first value of a parameter; `undefined` if it is absent. */
export const firstValue = (query: QueryString, name: string): string | undefined => {
  const value = query[name];
  return typeof value === "string" ? value : value?.[0];
};

/** Returns all values of a parameter; `undefined` if it is absent. */
export const allValues = (query: QueryString, name: string): readonly string[] | undefined => {
  const value = query[name];
  return value === undefined ? undefined : [value].flat();
};

/**
 * Parses a boolean parameter; `undefined` if it is absent.
 *
 * @throws RequestError 422: it is neither `true` nor `false`.
 */
export function parseBoolean(query: QueryString, name: string): boolean | undefined {
  const text = firstValue(query, name)?.toLowerCase();
  if (text === undefined || text === "") {
    return undefined;
  }
  if (text !== "true" && text !== "false") {
    throw new RequestError(422, `${name} must be true or false, not ${JSON.stringify(text)}`);
  }
  return text === "true";
}

/**
 * Parses a parameter that bounds a range of times. Returns microseconds since the Unix epoch, or `undefined` if the
 * parameter is absent.
 *
 * @throws RequestError 422: it is not a time.
 */
export function parseTimeParameter(query: QueryString, name: string): number | undefined {
  const text = firstValue(query, name);
  return text === undefined || text === ""
    ? undefined
    : (parseOptionalTime(text, name, parseTimeBound) ?? undefined);
}

/**
 * Like {@link parseTimeParameter}, for a parameter that must be present.
 *
 * @throws RequestError 422: it is absent, or not a time.
 */
export function parseRequiredTime(query: QueryString, name: string): number {
  const micros = parseTimeParameter(query, name);
  if (micros === undefined) {
    throw new RequestError(422, `${name} must be a time`);
  }
  return micros;
}

/**
 * Parses an id.
 *
 * @throws RequestError 422: it is not a UUID.
 */
export function parseId(id: unknown, name: string): string {
  if (isUuid(id)) {
    return id.toLowerCase();
  }
  const shown = typeof id === "string" ? JSON.stringify(id.slice(0, 64)) : typeof id;
  throw new RequestError(422, `${name} is not a UUID: ${shown}`);
}

/**
 * Parses the ids of a parameter; `undefined` if it is absent.
 *
 * @throws RequestError 422: one of them is not a UUID.
 */
export const parseIds = (query: QueryString, name: string): readonly string[] | undefined =>
  allValues(query, name)?.map((id) => parseId(id, name));

/**
 * Parses a parameter that contains, as a JSON object, the entries that metadata must have; `undefined` if the parameter
 * is absent.
 *
 * @throws RequestError 422: it is not a JSON object, or is too large.
 */
export function parseMetadata(query: QueryString, name = "metadata"): JsonObject | undefined {
  const text = firstValue(query, name);
  if (text === undefined || text === "") {
    return undefined;
  }
  const value = parseJson(text);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new RequestError(422, `${name} must be a JSON object`);
  }
  const object = { ...value };
  const excess = describeExcess(object);
  if (excess !== undefined) {
    throw new RequestError(422, `${name} has ${excess}`);
  }
  return object;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // Not JSON: the caller rejects it.
  }
}

/** The range of a number in a query string, and the number to use if the parameter is absent. */
export interface CountRange {
  readonly fallback: number;
  /** @defaultValue 0 */
  readonly min?: number;
  readonly max: number;
}

/**
 * Parses a parameter that is a number of items.
 *
 * @throws RequestError 422: it is not a whole number within the range.
 */
export function parseCount(
  query: QueryString,
  name: string,
  { fallback, min = 0, max }: CountRange,
): number {
  const text = firstValue(query, name);
  const count = text === undefined || text === "" ? fallback : Number(text);
  if (!Number.isSafeInteger(count) || count < min || count > max) {
    throw new RequestError(
      422,
      `${name} must be a whole number from ${min} to ${max}, not ${JSON.stringify(text)}`,
    );
  }
  return count;
}

/** Maximum number of items on a page of most lists. Clients rely on this value. */
const pageLimit = 100;

/**
 * Parses the parameters `limit`, from 1 to 100, and `offset`.
 *
 * @throws RequestError 422: one is out of range.
 */
export const parsePage = (
  query: QueryString,
): { readonly limit: number; readonly offset: number } => ({
  limit: parseCount(query, "limit", { fallback: pageLimit, min: 1, max: pageLimit }),
  offset: parseCount(query, "offset", { fallback: 0, max: Number.MAX_SAFE_INTEGER }),
});

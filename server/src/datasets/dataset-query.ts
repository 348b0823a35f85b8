import { RequestError } from "../model/errors.ts";
import { serverLimits } from "../model/options.ts";
import { dataTypes } from "./dataset.ts";
import type { DatasetOrder, DatasetQuery } from "./dataset.ts";
import {
  allValues,
  firstValue,
  parseCount,
  parseIds,
  parseMetadata,
  parseBoolean,
} from "../http/query-string.ts";
import type { QueryString } from "../http/query-string.ts";

const orders: readonly DatasetOrder[] = [
  "name",
  "created_at",
  "last_session_start_time",
  "example_count",
  "session_count",
  "modified_at",
];

/**
 * Parses the parameters of `GET /datasets`.
 *
 * @throws RequestError 422: a parameter has an invalid value.
 */
export function parseDatasetQuery(query: QueryString): DatasetQuery {
  const types = allValues(query, "data_type");
  const conditions = {
    ids: parseIds(query, "id"),
    name: firstValue(query, "name"),
    nameContains: firstValue(query, "name_contains"),
    dataTypes: types?.map((type) => parseOneOf(type, dataTypes, "data_type")),
    metadata: parseMetadata(query),
  };
  return {
    ...Object.fromEntries(Object.entries(conditions).filter(([, value]) => value !== undefined)),
    order: parseOneOf(firstValue(query, "sort_by") ?? "last_session_start_time", orders, "sort_by"),
    isDescending: parseBoolean(query, "sort_by_desc") ?? true,
    ...parsePage(query),
  };
}

/**
 * Parses `limit` and `offset`.
 *
 * @throws RequestError 422: one of them is not an integer within its range.
 */
export const parsePage = (query: QueryString) => ({
  limit: parseCount(query, "limit", {
    fallback: serverLimits.datasetsDefault,
    max: serverLimits.datasetsMax,
  }),
  offset: parseCount(query, "offset", { fallback: 0, max: Number.MAX_SAFE_INTEGER }),
});

/**
 * Parses a parameter that accepts only certain values.
 *
 * @throws RequestError 422: the text is not one of these values.
 */
export function parseOneOf<Value extends string>(
  text: string,
  values: readonly Value[],
  name: string,
): Value {
  const matchingValue = values.find((value) => value === text);
  if (matchingValue === undefined) {
    throw new RequestError(
      422,
      `${name} must be one of ${values.join(", ")}, not ${JSON.stringify(text.slice(0, 64))}`,
    );
  }
  return matchingValue;
}

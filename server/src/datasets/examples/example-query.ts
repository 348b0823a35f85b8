import { RequestError } from "../../model/errors.ts";
import { exampleFields } from "../../filter/fields.ts";
import type { CheckedFilter } from "../../filter/checker.ts";
import type { ExampleFilter, ExampleOrder, ExampleQuery } from "./example.ts";
import type { VersionTime } from "../dataset-version.ts";
import { allMembers, fixedMembers, listedMembers } from "./example-json.ts";
import { parseOneOf, parsePage } from "../dataset-query.ts";
import { readFilter } from "../../filter/filter-parameter.ts";
import {
  allValues,
  firstValue,
  parseId,
  parseIds,
  parseMetadata,
  parseBoolean,
} from "../../http/query-string.ts";
import type { QueryString } from "../../http/query-string.ts";

const exampleOrders: readonly ExampleOrder[] = [
  "recent",
  "recently_created",
  "random",
  "id",
  "written",
];

const selectableMembers = [...allMembers, ...fixedMembers];

/**
 * The dataset and the version whose examples a request reads. `datasetId` is `undefined` if the request names the
 * examples by their ids.
 */
export interface ExampleScope {
  readonly datasetId: string | undefined;
  readonly versionTime: VersionTime;
}

/** @throws RequestError 422: a parameter has an invalid value. */
export function parseExampleQuery(query: QueryString, scope: ExampleScope): ExampleQuery {
  const order = parseOneOf(firstValue(query, "order") ?? "recent", exampleOrders, "order");
  const after = firstValue(query, "after") ?? "";
  return {
    filter: parseExampleFilter(query, scope),
    order,
    isDescending: parseBoolean(query, "descending") ?? (order !== "id" && order !== "written"),
    seed: parseSeed(firstValue(query, "random_seed")),
    ...(after === "" ? {} : { after: parseId(after, "after") }),
    ...parsePage(query),
  };
}

/** @throws RequestError 422: a parameter has an invalid value. */
export function parseExampleFilter(
  query: QueryString,
  { datasetId, versionTime }: ExampleScope,
): ExampleFilter {
  const conditions = {
    datasetId,
    ids: parseIds(query, "id"),
    splits: allValues(query, "splits"),
    metadata: parseMetadata(query),
    texts: allValues(query, "full_text_contains"),
    condition: parseCondition(firstValue(query, "filter")),
  };
  return {
    versionTime,
    ...Object.fromEntries(Object.entries(conditions).filter(([, value]) => value !== undefined)),
  };
}

/**
 * Parses a filter expression.
 *
 * @throws RequestError 422: the filter has an error; the detail says where.
 */
export const parseCondition = (filter: string | null | undefined): CheckedFilter | undefined =>
  readFilter(exampleFields, "filter", filter);

/**
 * Reads which members of examples the request selects.
 *
 * @throws RequestError 422: examples have no such member.
 */
export function parseSelect(
  query: QueryString,
  fallback: ReadonlySet<string> = listedMembers,
): ReadonlySet<string> {
  const names = allValues(query, "select");
  return names === undefined
    ? fallback
    : new Set(names.map((name) => parseOneOf(name, selectableMembers, "select")));
}

/** Parses the seed of the order `random`. Without a seed, each response has a different order. */
function parseSeed(text: string | undefined): number {
  const seed = text === undefined || text === "" ? Math.random() : Number(text);
  if (!Number.isFinite(seed)) {
    throw new RequestError(422, `random_seed must be a number, not ${JSON.stringify(text)}`);
  }
  // Clients send a number between 0 and 1, or an integer. Convert both to an integer, as the SQL requires.
  return Math.trunc(Math.abs(seed % 1) * 2 ** 32 + Math.abs(Math.trunc(seed % 2 ** 32)));
}

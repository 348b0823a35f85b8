import { isUuid } from "millrace/model";
import { Type } from "typebox";
import type { Static } from "typebox";
import { RequestError } from "../../model/errors.ts";
import type { CheckedFilter } from "../../filter/checker.ts";
import { runFields } from "../../filter/fields.ts";
import type { FieldTable } from "../../filter/fields.ts";
import { Maybe, Time } from "../../http/schema-parts.ts";
import { parseTimeBound } from "../../model/parse-time.ts";
import { serverLimits } from "../../model/options.ts";
import { readFilter } from "../../filter/filter-parameter.ts";
import { parseCursor } from "../run-cursor.ts";
import type { RunFilter, RunQuery } from "../run-query.ts";

const Ids = Type.Array(Type.String({ maxLength: 64 }), { maxItems: 10_000 });

/**
 * Body of `POST /runs/query` and `POST /runs/stats`. Unknown members are refused, because a misspelled filter would
 * otherwise match all runs.
 */
export const runQueryBody = Type.Object(
  {
    session: Maybe(Ids),
    id: Maybe(Ids),
    trace: Maybe(Type.String()),
    parent_run: Maybe(Type.String()),
    run_type: Maybe(Type.String()),
    /** Clients send a single id as a string instead of a list. */
    reference_example: Maybe(Type.Union([Ids, Type.String({ maxLength: 64 })])),
    is_root: Maybe(Type.Boolean()),
    /** Clients send 1 to request root runs only. */
    execution_order: Maybe(Type.Integer({ minimum: 1, maximum: 1 })),
    error: Maybe(Type.Boolean()),
    start_time: Maybe(Time),
    end_time: Maybe(Time),
    query: Maybe(Type.String({ maxLength: 10_000 })),
    filter: Maybe(Type.String()),
    trace_filter: Maybe(Type.String()),
    tree_filter: Maybe(Type.String()),
    search_filter: Maybe(Type.String()),
    select: Maybe(Type.Array(Type.String(), { maxItems: 200 })),
    order: Maybe(Type.Union([Type.Literal("asc"), Type.Literal("desc")])),
    limit: Maybe(Type.Integer({ minimum: 1, maximum: serverLimits.queryMax })),
    cursor: Maybe(Type.String({ maxLength: 500 })),
    /** Clients send where the hosted service should search. It has no effect here. */
    data_source_type: Maybe(Type.String({ maxLength: 64 })),
    /** Hints of the hosted service's API about how it should search, and which cursors it should return: without effect. */
    skip_pagination: Maybe(Type.Boolean()),
    skip_prev_cursor: Maybe(Type.Boolean()),
    use_experimental_search: Maybe(Type.Boolean()),
  },
  { additionalProperties: false },
);

export type RunQueryBody = Static<typeof runQueryBody>;

/**
 * Converts the body of a query to the form that the store expects.
 *
 * @param fields - the fields that `filter` and `search_filter` may name.
 * @throws RequestError 422: a parameter or a filter is invalid.
 */
export function parseRunQuery(
  body: RunQueryBody,
  fields: FieldTable = runFields,
): {
  query: RunQuery;
  select: ReadonlySet<string> | undefined;
} {
  const order = body.order ?? "desc";
  const select =
    body.select === undefined || body.select === null ? undefined : new Set(body.select);
  const after =
    body.cursor === undefined || body.cursor === null ? undefined : parseCursor(body.cursor, order);
  return {
    select,
    query: {
      filter: parseFilter(body, fields),
      order,
      limit: body.limit ?? serverLimits.queryDefault,
      bytesMax: serverLimits.queryBytes,
      withChildren:
        select !== undefined && (select.has("child_run_ids") || select.has("direct_child_run_ids")),
      ...(after === undefined ? {} : { after }),
    },
  };
}

function parseFilter(body: RunQueryBody, fields: FieldTable): RunFilter {
  const filter = {
    projectIds: parseIds(body, "session"),
    ids: parseIds(body, "id"),
    referenceExampleIds: parseIds(body, "reference_example"),
    traceId: parseId(body.trace, "trace"),
    parentRunId: parseId(body.parent_run, "parent_run"),
    runType: body.run_type ?? undefined,
    isRoot: readIsRoot(body),
    hasError: body.error ?? undefined,
    earliestStartMicros: parseMicros(body, "start_time"),
    latestStartMicros: parseMicros(body, "end_time"),
    text: body.query === "" ? undefined : (body.query ?? undefined),
    runFilters: parseRunFilters(body, fields),
    rootFilter: readFilter(runFields, "trace_filter", body.trace_filter),
    treeFilter: readFilter(runFields, "tree_filter", body.tree_filter),
  };
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
}

/** Whether the query is for root runs or for other runs; `undefined` if it is for both. */
export const readIsRoot = (
  body: Pick<RunQueryBody, "is_root" | "execution_order">,
): boolean | undefined => body.is_root ?? (body.execution_order === 1 ? true : undefined);

/** Parses `filter` and `search_filter`, which both apply to the run itself. A run must match both. */
function parseRunFilters(
  body: RunQueryBody,
  fields: FieldTable,
): readonly CheckedFilter[] | undefined {
  const filters = (["filter", "search_filter"] as const)
    .map((name) => readFilter(fields, name, body[name]))
    .filter((filter) => filter !== undefined);
  return filters.length === 0 ? undefined : filters;
}

function parseIds(
  body: RunQueryBody,
  name: "session" | "id" | "reference_example",
): readonly string[] | undefined {
  const ids = body[name] ?? undefined;
  return (typeof ids === "string" ? [ids] : ids)?.map((id) => parseUuid(id, name));
}

const parseId = (id: string | null | undefined, name: string): string | undefined =>
  id === undefined || id === null ? undefined : parseUuid(id, name);

function parseUuid(id: string, name: string): string {
  if (!isUuid(id)) {
    throw new RequestError(422, `${name} is not a UUID: ${JSON.stringify(id)}`);
  }
  return id.toLowerCase();
}

function parseMicros(body: RunQueryBody, name: "start_time" | "end_time"): number | undefined {
  const value = body[name];
  if (value === undefined || value === null) {
    return undefined;
  }
  const micros = parseTimeBound(value);
  if (micros === undefined) {
    throw new RequestError(
      422,
      `${name} is neither an ISO 8601 time nor epoch milliseconds: ${JSON.stringify(value)}`,
    );
  }
  return micros;
}

import type { FastifyReply, FastifyRequest } from "fastify";
import { isUuid } from "millrace/model";
import { setImmediate } from "node:timers/promises";
import { Type } from "typebox";
import type { Static } from "typebox";
import { createCursorError, readListCursor, toListCursor } from "../../http/list-cursor.ts";
import { selectRunFields } from "../../filter/fields.ts";
import { RequestError } from "../../model/errors.ts";
import type { ListPosition, RunSearch, SearchSlice } from "../run-list.ts";
import type { RunStore } from "../run-store.ts";
import { toIso } from "../../http/wire-text.ts";
import { parseRunQuery, readIsRoot, runQueryBody } from "./run-query-body.ts";

/** Maximum number of runs on one page of the list. */
const maxPageRuns = 200;

/**
 * Number of runs that the first search step scans. It is low, because matching a run may require reading its payload.
 * After each quick step, the number grows, up to `maxScanLimit`.
 */
export const initialScanLimit = 1_000;
const maxScanLimit = 128_000;

/** Milliseconds after which the search of one request ends. The response then contains the position reached. */
const searchTimeLimitMs = 150;

/** Members of a run that the list contains when the request has no `select`. */
const defaultMembers = [
  "name",
  "run_type",
  "status",
  "start_time",
  "end_time",
  "trace_id",
  "parent_run_id",
];

/** Body of `POST /ui/runs/search`: a run query for a single project, and the sort column. */
export const runSearchBody = Type.Object({
  ...runQueryBody.properties,
  sort: Type.Optional(Type.Union([Type.Literal("start"), Type.Literal("latency")])),
});

export type RunSearchBody = Static<typeof runSearchBody>;

/** `POST /ui/runs/search`: returns a page of the list, or as much of it as was found within the time limit. */
export async function searchRuns(
  store: RunStore,
  { body, tenantId }: FastifyRequest<{ Body: RunSearchBody }>,
  reply: FastifyReply,
): Promise<unknown> {
  const search = parseSearch(body);
  const select = new Set(body.select ?? defaultMembers);
  const { runs, nextPosition } = await searchWithin(search, searchTimeLimitMs, (stepSearch) =>
    store.read.runPages.search(tenantId, stepSearch, select),
  );
  const isIncomplete = nextPosition !== undefined && runs.length < search.limit;
  const otherMembers = {
    cursors: { next: nextPosition === undefined ? null : toCursor(search, nextPosition) },
    // The start time down to which runs have been searched, if the time ran out before the page was full.
    searched_to: isIncomplete && search.sort === "start" ? toIso(nextPosition.micros) : null,
    is_short: isIncomplete,
  };
  return reply
    .type("application/json; charset=utf-8")
    .send(`{"runs":[${runs.join(",")}],${JSON.stringify(otherMembers).slice(1)}`);
}

/**
 * Searches in steps until the page is full, the list ends or the time limit is reached. Other requests are served
 * between the steps.
 *
 * @param readStep - performs one step.
 */
export async function searchWithin<Run>(
  search: RunSearch,
  timeLimitMs: number,
  readStep: (step: RunSearch) => Promise<SearchSlice<Run>>,
): Promise<SearchSlice<Run>> {
  const startedMs = performance.now();
  const runs: Run[] = [];
  let { after, scanLimit } = search;
  for (;;) {
    const stepStartedMs = performance.now();
    const slice = await readStep({
      ...search,
      ...(after === undefined ? {} : { after }),
      limit: search.limit - runs.length,
      scanLimit,
    });
    runs.push(...slice.runs);
    after = slice.nextPosition;
    if (after === undefined) {
      return { runs };
    }
    const nowMs = performance.now();
    const stepMs = nowMs - stepStartedMs;
    // Another step probably takes as long as the last one. Do not begin it if most of it would be after the limit.
    const isTimeOver = nowMs + stepMs / 2 - startedMs > timeLimitMs;
    if (runs.length >= search.limit || isTimeOver) {
      return { runs, nextPosition: after };
    }
    // Steps that read no payloads are quick, so later steps can scan many more runs.
    const isQuick = stepMs < timeLimitMs / 10;
    scanLimit = isQuick ? Math.min(scanLimit * 3, maxScanLimit) : scanLimit;
    await setImmediate();
  }
}

/**
 * Converts the body to a search of one project.
 *
 * @throws RequestError 422: the query is not for exactly one project, or a filter is invalid.
 */
export function parseSearch({ cursor, sort = "start", ...body }: RunSearchBody): RunSearch {
  const { query } = parseRunQuery(body, selectRunFields(readIsRoot(body) === true));
  const { projectIds = [], ...filter } = query.filter;
  const [projectId] = projectIds;
  if (projectId === undefined || projectIds.length > 1) {
    throw new RequestError(422, "session must be a list with the id of one project");
  }
  const { order } = query;
  const after = typeof cursor === "string" ? parseCursor(cursor, { sort, order }) : undefined;
  return {
    projectId,
    filter,
    sort,
    order,
    limit: Math.min(query.limit, maxPageRuns),
    scanLimit: initialScanLimit,
    ...(after === undefined ? {} : { after }),
  };
}

type SortOrder = Pick<RunSearch, "sort" | "order">;

const toCursor = ({ sort, order }: SortOrder, { micros, id }: ListPosition): string =>
  toListCursor([sort, order, micros, id]);

function parseCursor(cursor: string, { sort, order }: SortOrder): ListPosition {
  const [cursorSort, cursorOrder, micros, id] = readListCursor(cursor);
  if (
    cursorSort !== sort ||
    cursorOrder !== order ||
    !Number.isSafeInteger(micros) ||
    !isUuid(id)
  ) {
    throw createCursorError(cursor);
  }
  return { micros: Number(micros), id };
}

import type { FastifyRequest } from "fastify";
import { isUuid } from "millrace/model";
import { setImmediate } from "node:timers/promises";
import { Type } from "typebox";
import type { Static } from "typebox";
import { RequestError } from "../../model/errors.ts";
import type { ListPosition, RunSearch, RunStretch } from "../run-list.ts";
import type { StoredRun } from "../run-row.ts";
import type { RunStore } from "../run-store.ts";
import { toIso } from "../../http/wire-text.ts";
import { toListItem } from "../serializers/run-list-json.ts";
import { parseRunQuery, runQueryBody } from "./run-query-body.ts";

/** Runs of one page of the list. */
const pageMax = 200;

/** Runs that are looked at before the clock is: few at first, since each may take reading its payload. */
const firstSteps = 1_000;
const mostSteps = 128_000;

/** Time for the search of one request. The response then contains how far it got. */
const searchMs = 150;

/** Members of a run that a list shows where it does not say. */
const listed = [
  "name",
  "run_type",
  "status",
  "start_time",
  "end_time",
  "trace_id",
  "parent_run_id",
];

/** Body of `POST /ui/runs/search`: a query of one project's runs. */
export const runSearchBody = Type.Object({
  ...runQueryBody.properties,
  sort: Type.Optional(Type.Union([Type.Literal("start"), Type.Literal("latency")])),
});

export type RunSearchBody = Static<typeof runSearchBody>;

/** `POST /ui/runs/search`: a page of the list, or as much of it as could be found in the time. */
export async function searchRuns(
  store: RunStore,
  { body, tenantId }: FastifyRequest<{ Body: RunSearchBody }>,
): Promise<unknown> {
  const search = parseSearch(body);
  const select = new Set(body.select ?? listed);
  const { runs, next } = await searchFor(store, { tenantId, search, withinMs: searchMs });
  const ids = select.has("feedback_stats") ? runs.map(({ row }) => row.id) : [];
  const stats = await store.read.feedback.statsOfRuns(tenantId, ids);
  const isShort = next !== undefined && runs.length < search.limit;
  return {
    runs: runs.map((run) => toListItem(run, { select, feedback: stats.get(run.row.id) })),
    cursors: { next: next === undefined ? null : toCursor(search, next) },
    // Where the time was over before the page was full: how far back it has been searched.
    searched_to: isShort && search.sort === "start" ? toIso(next.micros) : null,
    is_short: isShort,
  };
}

export interface TimedSearch {
  readonly tenantId: string;
  readonly search: RunSearch;
  readonly withinMs: number;
}

/** Goes on until the page is full, the list ends or the time is over; others have their turn in between. */
export async function searchFor(
  store: RunStore,
  { tenantId, search, withinMs }: TimedSearch,
): Promise<RunStretch> {
  const began = performance.now();
  const runs: StoredRun[] = [];
  let { after, steps } = search;
  for (;;) {
    const from = performance.now();
    const stretch: RunStretch = await store.read.runLists.search(tenantId, {
      ...search,
      ...(after === undefined ? {} : { after }),
      limit: search.limit - runs.length,
      steps,
    });
    runs.push(...stretch.runs);
    after = stretch.next;
    if (after === undefined) {
      return { runs };
    }
    if (runs.length >= search.limit || performance.now() - began > withinMs) {
      return { runs, next: after };
    }
    // What reads no payload goes far in little time.
    const isQuick = performance.now() - from < withinMs / 10;
    steps = isQuick ? Math.min(steps * 3, mostSteps) : steps;
    await setImmediate();
  }
}

/** @throws RequestError 422: it is no query of one project's runs, or a filter has a fault. */
export function parseSearch({ cursor, sort = "start", ...body }: RunSearchBody): RunSearch {
  const { query } = parseRunQuery(body);
  const { projectIds = [], ...filter } = query.filter;
  const [projectId] = projectIds;
  if (projectId === undefined || projectIds.length > 1) {
    throw new RequestError(422, "session must be a list of one project's id");
  }
  const { order } = query;
  const after = typeof cursor === "string" ? parseCursor(cursor, { sort, order }) : undefined;
  return {
    projectId,
    filter,
    sort,
    order,
    limit: Math.min(query.limit, pageMax),
    steps: firstSteps,
    ...(after === undefined ? {} : { after }),
  };
}

type Order = Pick<RunSearch, "sort" | "order">;

const toCursor = ({ sort, order }: Order, { micros, id }: ListPosition): string =>
  Buffer.from(JSON.stringify([sort, order, micros, id])).toString("base64url");

function parseCursor(cursor: string, { sort, order }: Order): ListPosition {
  const [ofSort, ofOrder, micros, id] = parseList(
    Buffer.from(cursor, "base64url").toString("utf8"),
  );
  if (ofSort !== sort || ofOrder !== order || !Number.isSafeInteger(micros) || !isUuid(id)) {
    throw new RequestError(422, "cursor is not one that this list answered");
  }
  return { micros: Number(micros), id };
}

function parseList(text: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : [];
  } catch {
    return []; // Not JSON: the caller refuses the cursor.
  }
}

import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import type { endpoints } from "millrace/model";
import { parseRunDetails, parseRunPage } from "../lib/run.ts";
import type { RunPage, RunSummary } from "../lib/run.ts";
import { getJson, postJson } from "./http.ts";

const queryPath: (typeof endpoints)["queryRuns"]["path"] = "/runs/query";

const pollMs = 2_000;
/** A large trace that still grows is read whole each time: less often, then. */
const largePollMs = 10_000;
const largeTrace = 2_000;
const pageSize = 100;
const tracePageSize = 1_000;

const listFields = [
  "id",
  "name",
  "run_type",
  "status",
  "start_time",
  "end_time",
  "trace_id",
  "parent_run_id",
];

/** The roots of a project, newest first, page after page. */
export const rootPagesQuery = (projectId: string) =>
  infiniteQueryOptions({
    queryKey: ["runs", projectId, "pages"],
    queryFn: async ({ pageParam, signal }) => readRoots(projectId, pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }: RunPage) => next,
    // What is new comes from the poll; a page once read is not read again.
    staleTime: Infinity,
  });

/** The first of those pages, again and again. */
export const newestRootsQuery = (projectId: string) =>
  queryOptions({
    queryKey: ["runs", projectId, "newest"],
    queryFn: async ({ signal }) => readRoots(projectId, undefined, signal),
    refetchInterval: pollMs,
  });

/** All runs of a trace in the order of their start; again while one of them is open. */
export const traceQuery = (traceId: string) =>
  queryOptions({
    queryKey: ["trace", traceId],
    queryFn: async ({ signal }) => readTrace(traceId, signal),
    refetchInterval: ({ state: { data } }) => {
      if (data !== undefined && data.length > 0 && data.every(({ status }) => isEnded(status))) {
        return false;
      }
      return (data?.length ?? 0) > largeTrace ? largePollMs : pollMs;
    },
  });

/** One run with its payload; again while it is open. */
export const runQuery = (id: string) =>
  queryOptions({
    queryKey: ["run", id],
    queryFn: async ({ signal }) =>
      parseRunDetails(await getJson(`/runs/${encodeURIComponent(id)}`, signal)),
    refetchInterval: ({ state: { data } }) =>
      data !== undefined && isEnded(data.status) ? false : pollMs,
  });

const isEnded = (status: RunSummary["status"]): boolean => status !== "pending";

async function readRoots(
  projectId: string,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<RunPage> {
  const select = [...listFields, "error"];
  const body = { session: [projectId], is_root: true, limit: pageSize, cursor, select };
  return parseRunPage(await postJson(queryPath, body, signal));
}

async function readTrace(trace: string, signal: AbortSignal): Promise<readonly RunSummary[]> {
  const runs: RunSummary[] = [];
  let cursor: string | undefined;
  do {
    const body = { trace, order: "asc", limit: tracePageSize, cursor, select: listFields };
    // One after the other: a cursor comes with the page before it.
    const page = parseRunPage(await postJson(queryPath, body, signal));
    runs.push(...page.runs);
    cursor = page.next;
  } while (cursor !== undefined);
  return runs;
}

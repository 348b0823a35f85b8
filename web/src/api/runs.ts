import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import type { endpoints } from "millrace/model";
import { parseRunPage } from "../lib/run.ts";
import type { RunPage } from "../lib/run.ts";
import { postJson } from "./http.ts";

const queryPath: (typeof endpoints)["queryRuns"]["path"] = "/runs/query";

const pollMs = 2_000;
const pageSize = 100;

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

async function readRoots(
  projectId: string,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<RunPage> {
  const select = [...listFields, "error"];
  const body = { session: [projectId], is_root: true, limit: pageSize, cursor, select };
  return parseRunPage(await postJson(queryPath, body, signal));
}

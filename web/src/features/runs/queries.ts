import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import type { endpoints, uiEndpoints } from "millrace/model";
import type { WantedWords } from "../../components/filter/filter-completion.ts";
import { parseRunDetails } from "./run.ts";
import { parseRunItemPage } from "./run-item.ts";
import type { RunItemPage } from "./run-item.ts";
import { parseRunCounts } from "./run-counts.ts";
import type { TimeRange } from "./time-range.ts";
import { getJson, postJson } from "../../api/http.ts";

type Path<Name extends keyof typeof uiEndpoints> = (typeof uiEndpoints)[Name]["path"];

const searchPath: Path<"searchRuns"> = "/ui/runs/search";
const countsPath: Path<"countRuns"> = "/ui/runs/counts";
const wordsPath: Path<"listRunWords"> = "/ui/runs/words";
const readPath: (typeof endpoints)["readRun"]["path"] = "/runs/:id";
const exportPath: Path<"exportRuns"> = "/ui/runs/export";

/** Which runs of a project a list has, and what its columns show of them. */
export interface RunListQuery {
  readonly projectId: string;
  readonly filter: string;
  readonly isRoot: boolean;
  readonly range: TimeRange;
  readonly sort: "start" | "latency";
  readonly order: "asc" | "desc";
  readonly select: readonly string[];
}

const pageSize = 100;
const pollSize = 200;
const pollMs = 2_000;
const countsMs = 10_000;
const bucketCount = 90;

const toIso = (ms: number | undefined): string | undefined =>
  ms === undefined ? undefined : new Date(ms).toISOString();

/** The body of a search; what does not narrow it is left out. */
export const toSearchBody = (query: RunListQuery) => ({
  session: [query.projectId],
  filter: query.filter === "" ? undefined : query.filter,
  is_root: query.isRoot ? true : undefined,
  start_time: toIso(query.range.fromMs),
  end_time: toIso(query.range.toMs),
  sort: query.sort,
  order: query.order,
});

/** The list, page after page. */
export const runPagesQuery = (query: RunListQuery) =>
  infiniteQueryOptions({
    queryKey: ["run-list", query],
    queryFn: async ({ pageParam, signal }): Promise<RunItemPage> =>
      parseRunItemPage(
        await postJson(
          searchPath,
          { ...toSearchBody(query), select: query.select, limit: pageSize, cursor: pageParam },
          signal,
        ),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }: RunItemPage) => next,
    // What is new comes from the poll; a page once read is not read again.
    staleTime: Infinity,
  });

/** What began since a run that is known, itself included, again and again: no more than that is searched. */
export const newestRunsQuery = (query: RunListQuery, sinceMs: number | undefined) =>
  queryOptions({
    queryKey: ["run-list-newest", query],
    queryFn: async ({ signal }): Promise<RunItemPage> =>
      parseRunItemPage(
        await postJson(
          searchPath,
          {
            ...toSearchBody(query),
            select: query.select,
            limit: pollSize,
            start_time: toIso(sinceMs ?? query.range.fromMs),
          },
          signal,
        ),
      ),
    refetchInterval: pollMs,
  });

/** How many runs began when. */
export const runCountsQuery = (projectId: string, isRoot: boolean, range: TimeRange) =>
  queryOptions({
    queryKey: ["run-counts", projectId, isRoot, range],
    queryFn: async ({ signal }) => {
      const parameters = new URLSearchParams({
        session: projectId,
        buckets: String(bucketCount),
        ...(isRoot ? { is_root: "true" } : {}),
        ...(range.fromMs === undefined ? {} : { from: new Date(range.fromMs).toISOString() }),
        ...(range.toMs === undefined ? {} : { to: new Date(range.toMs).toISOString() }),
      });
      return parseRunCounts(await getJson(`${countsPath}?${parameters.toString()}`, signal));
    },
    refetchInterval: countsMs,
  });

/** Words that a project's runs have. */
export async function readRunWords(
  projectId: string,
  { kind, key = "", prefix }: Pick<WantedWords, "kind" | "key" | "prefix">,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const parameters = new URLSearchParams({ session: projectId, kind, key, prefix, limit: "50" });
  const { words } = (await getJson(`${wordsPath}?${parameters.toString()}`, signal)) as {
    readonly words?: readonly unknown[];
  };
  return (words ?? []).map(String);
}

/** A run with all that was recorded of it, to be compared; the one that is in the store. */
export const comparedRunQuery = (id: string) =>
  queryOptions({
    queryKey: ["compared-run", id],
    queryFn: async ({ signal }) =>
      parseRunDetails(await getJson(readPath.replace(":id", encodeURIComponent(id)), signal)),
  });

/** Where a file of runs can be fetched, once. */
export async function orderExport(query: object, format: "jsonl" | "csv"): Promise<string> {
  const { path } = (await postJson(exportPath, { ...query, format })) as {
    readonly path?: unknown;
  };
  if (typeof path !== "string" || !path.startsWith(exportPath)) {
    throw new TypeError("the server's answer names no file");
  }
  return path;
}

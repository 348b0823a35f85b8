import { infiniteQueryOptions, queryOptions, useQuery } from "@tanstack/react-query";
import { endpointPath } from "../../api/endpoint-path.ts";
import { getJson, postJson } from "../../api/http.ts";
import type { WantedWords } from "../../components/filter/filter-completion.ts";
import { parseTimeMs } from "../../components/time/time.ts";
import { parseRunItemPage } from "./run-item.ts";
import type { RunItemPage } from "./run-item.ts";
import { parseRunDetails } from "./run.ts";
import type { TimeRange } from "./time-range.ts";

const searchPath = endpointPath("/ui/runs/search");
const countsPath = endpointPath("/ui/runs/counts");
const wordsPath = endpointPath("/ui/runs/words");
const exportPath = endpointPath("/ui/runs/export");

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
      parseRunDetails(await getJson(endpointPath("/runs/:id", { id }), signal)),
  });

/** Where a file of runs can be fetched, once. */
export async function startExport(query: object, format: "jsonl" | "csv"): Promise<string> {
  const { path } = (await postJson(exportPath, { ...query, format })) as {
    readonly path?: unknown;
  };
  if (typeof path !== "string" || !path.startsWith(exportPath)) {
    throw new TypeError("the server's answer names no file");
  }
  return path;
}

/** Runs and errors in stretches of time, one beside the other, empty ones too. */
interface RunCounts {
  /** Where each stretch begins. */
  readonly at: readonly number[];
  readonly succeeded: readonly number[];
  readonly failed: readonly number[];
  readonly total: number;
  readonly range: readonly [from: number, to: number] | undefined;
}

const emptyMax = 1_000;

/** @throws TypeError the server answered something else. */
export function parseRunCounts(value: unknown): RunCounts {
  const answer = value as Readonly<Record<string, unknown>>;
  const { buckets, width_ms: widthMs } = answer;
  if (!Array.isArray(buckets) || typeof widthMs !== "number") {
    throw new TypeError("the server's answer holds no counts");
  }
  const from = parseTimeMs(answer["from"]);
  const to = parseTimeMs(answer["to"]);
  if (from === undefined || to === undefined) {
    return { at: [], succeeded: [], failed: [], total: 0, range: undefined };
  }
  const found = new Map(
    buckets.map((bucket: unknown) => {
      const { start, runs, errors } = bucket as Readonly<Record<string, unknown>>;
      return [parseTimeMs(start) ?? 0, { runs: Number(runs), errors: Number(errors) }] as const;
    }),
  );
  const first = Math.floor(from / widthMs) * widthMs;
  const count = Math.min(emptyMax, Math.floor((to - first) / widthMs) + 1);
  const at = Array.from({ length: count }, (_, index) => first + index * widthMs);
  const failed = at.map((start) => found.get(start)?.errors ?? 0);
  return {
    at,
    failed,
    succeeded: at.map((start, index) => (found.get(start)?.runs ?? 0) - (failed[index] ?? 0)),
    total: [...found.values()].reduce((sum, { runs }) => sum + runs, 0),
    range: [first, first + count * widthMs],
  };
}

/** Words of one kind that a project's runs have. */
export const useRunWords = (
  projectId: string,
  wants: Pick<WantedWords, "kind" | "key">,
  isOn = true,
) =>
  useQuery({
    queryKey: ["words", projectId, wants.kind, wants.key ?? "", ""],
    queryFn: async ({ signal }) => readRunWords(projectId, { ...wants, prefix: "" }, signal),
    enabled: isOn,
    staleTime: 30_000,
  });

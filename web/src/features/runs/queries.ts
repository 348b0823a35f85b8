import {
  infiniteQueryOptions,
  keepPreviousData,
  queryOptions,
  useQuery,
} from "@tanstack/react-query";
import { basePath } from "../../api/base-path.ts";
import { toEndpointPath } from "../../api/endpoint-path.ts";
import { getJson, postJson } from "../../api/http.ts";
import { requireText, toRecord } from "../../api/parse.ts";
import type { ValueRequest } from "../../components/filter/filter-completion.ts";
import { parseTimeMs } from "../../components/time/time.ts";
import type { TimeRange } from "../../components/time/time-range.ts";
import { parseRunItemPage } from "./run-item.ts";
import type { RunItemPage } from "./run-item.ts";
import { parseRunDetails } from "./run.ts";

const searchPath = toEndpointPath("/ui/runs/search");
const countsPath = toEndpointPath("/ui/runs/counts");
const valuesPath = toEndpointPath("/ui/runs/words");
const exportPath = toEndpointPath("/ui/runs/export");

/** Which runs of a project a list contains, in which order, and which of their fields it requests. */
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
const pollIntervalMs = 2_000;
const countsIntervalMs = 10_000;
/** The maximum number of bars in the histogram. */
const bucketCount = 90;

const toIsoTime = (ms: number | undefined): string | undefined =>
  ms === undefined ? undefined : new Date(ms).toISOString();

/** Returns the body of a search request. Empty conditions are left out. */
export const toSearchBody = (query: RunListQuery) => ({
  session: [query.projectId],
  filter: query.filter === "" ? undefined : query.filter,
  is_root: query.isRoot ? true : undefined,
  start_time: toIsoTime(query.range.fromMs),
  end_time: toIsoTime(query.range.toMs),
  sort: query.sort,
  order: query.order,
});

/** The runs of a list, loaded page by page. */
export const createRunPagesQuery = (query: RunListQuery) =>
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
    // Loaded pages are never requested again; {@link createNewestRunsQuery} polls for new runs.
    staleTime: Infinity,
  });

/** Polls for the runs that started at `sinceMs` or later, which limits the search to recent runs. */
export const createNewestRunsQuery = (query: RunListQuery, sinceMs: number | undefined) =>
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
            start_time: toIsoTime(sinceMs ?? query.range.fromMs),
          },
          signal,
        ),
      ),
    refetchInterval: pollIntervalMs,
  });

export interface RunCountsQuery {
  readonly projectId: string;
  readonly isRootOnly: boolean;
  readonly filter: string;
  readonly range: TimeRange;
}

/** The number of runs by start time. */
export const createRunCountsQuery = ({ projectId, isRootOnly, filter, range }: RunCountsQuery) =>
  queryOptions({
    queryKey: ["run-counts", projectId, isRootOnly, filter, range],
    queryFn: async ({ signal }) => {
      const parameters = new URLSearchParams({
        session: projectId,
        buckets: String(bucketCount),
        ...(isRootOnly ? { is_root: "true" } : {}),
        ...(filter === "" ? {} : { filter }),
        ...(range.fromMs === undefined ? {} : { from: new Date(range.fromMs).toISOString() }),
        ...(range.toMs === undefined ? {} : { to: new Date(range.toMs).toISOString() }),
      });
      return parseRunCounts(await getJson(`${countsPath}?${parameters.toString()}`, signal));
    },
    refetchInterval: countsIntervalMs,
    placeholderData: keepPreviousData,
  });

/** Reads values that occur in a project's runs, such as tags, run types or metadata keys. */
export async function readRunValues(
  projectId: string,
  { kind, key = "", prefix }: Pick<ValueRequest, "kind" | "key" | "prefix">,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const parameters = new URLSearchParams({ session: projectId, kind, key, prefix, limit: "50" });
  const { words } = (await getJson(`${valuesPath}?${parameters.toString()}`, signal)) as {
    readonly words?: readonly unknown[];
  };
  return (words ?? []).map(String);
}

/** A run with its payloads, for a comparison. */
export const createComparedRunQuery = (id: string) =>
  queryOptions({
    queryKey: ["compared-run", id],
    queryFn: async ({ signal }) =>
      parseRunDetails(await getJson(toEndpointPath("/runs/:id", { id }), signal)),
  });

/**
 * The fields with the numbers of two compared runs. The tokens and the cost of a root run are those of its whole trace.
 */
export const figureFields = ["total_tokens", "total_cost", "trace_usage", "start_time"] as const;

/** The fields of runs whose preview is shown in a list. */
export const previewFields = ["inputs", "outputs", "error", "start_time"] as const;

/** Reads the selected fields of the given runs of a project. A field that is not selected is `undefined` or empty. */
export const createRunItemsQuery = (
  projectId: string,
  ids: readonly string[],
  select: readonly string[],
) =>
  queryOptions({
    queryKey: ["run-items", projectId, ids, select],
    queryFn: async ({ signal }) => {
      const body = { session: [projectId], id: ids, select, limit: ids.length };
      return parseRunItemPage(await postJson(searchPath, body, signal)).items;
    },
  });

/** Starts an export. Returns its job, and the path of its file, which can be fetched once. */
export async function startExport(
  query: object,
  format: "jsonl" | "csv",
): Promise<{ readonly path: string; readonly jobId: string }> {
  const members = toRecord(await postJson(exportPath, { ...query, format }));
  const { path } = members;
  if (typeof path !== "string" || !path.startsWith(exportPath)) {
    throw new TypeError("The response contains no path of an export file.");
  }
  return { path: basePath + path, jobId: requireText(members, "job_id") };
}

/** Counts of runs in consecutive time buckets, including empty ones. */
export interface RunCounts {
  /** The start of each bucket, in milliseconds since the Unix epoch. */
  readonly bucketStarts: readonly number[];
  readonly succeeded: readonly number[];
  readonly failed: readonly number[];
  readonly total: number;
  /** The start of the first bucket and the end of the last bucket; `undefined` if there are no runs. */
  readonly range: readonly [from: number, to: number] | undefined;
  /**
   * Runs that started before this time were not counted, because counting all runs would have taken too long.
   * `undefined` if all runs were counted.
   */
  readonly countedFromMs: number | undefined;
}

const maxBuckets = 1_000;

/** @throws TypeError the response does not contain counts. */
export function parseRunCounts(value: unknown): RunCounts {
  const response = value as Readonly<Record<string, unknown>>;
  const { buckets, width_ms: widthMs } = response;
  if (!Array.isArray(buckets) || typeof widthMs !== "number") {
    throw new TypeError("The response contains no run counts.");
  }
  const from = parseTimeMs(response["from"]);
  const to = parseTimeMs(response["to"]);
  if (from === undefined || to === undefined) {
    return {
      bucketStarts: [],
      succeeded: [],
      failed: [],
      total: 0,
      range: undefined,
      countedFromMs: undefined,
    };
  }
  const countsByStart = new Map(
    buckets.map((bucket: unknown) => {
      const { start, runs, errors } = bucket as Readonly<Record<string, unknown>>;
      return [parseTimeMs(start) ?? 0, { runs: Number(runs), errors: Number(errors) }] as const;
    }),
  );
  const firstStart = Math.floor(from / widthMs) * widthMs;
  const count = Math.min(maxBuckets, Math.floor((to - firstStart) / widthMs) + 1);
  const bucketStarts = Array.from({ length: count }, (_, index) => firstStart + index * widthMs);
  const failed = bucketStarts.map((start) => countsByStart.get(start)?.errors ?? 0);
  return {
    bucketStarts,
    failed,
    succeeded: bucketStarts.map(
      (start, index) => (countsByStart.get(start)?.runs ?? 0) - (failed[index] ?? 0),
    ),
    total: [...countsByStart.values()].reduce((sum, { runs }) => sum + runs, 0),
    range: [firstStart, firstStart + count * widthMs],
    countedFromMs: parseTimeMs(response["counted_to"]),
  };
}

/** Values of one kind that occur in a project's runs. */
export const useRunValues = (
  projectId: string,
  request: Pick<ValueRequest, "kind" | "key">,
  isEnabled = true,
) =>
  useQuery({
    queryKey: ["values", projectId, request.kind, request.key ?? "", ""],
    queryFn: async ({ signal }) => readRunValues(projectId, { ...request, prefix: "" }, signal),
    enabled: isEnabled,
    staleTime: 30_000,
  });

import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { toEndpointPath } from "../../api/endpoint-path.ts";
import { getJson, postJson } from "../../api/http.ts";
import { requireItems, requireText, toItems, toRecord, toText } from "../../api/parse.ts";
import { parseTimeMs } from "../../components/time/time.ts";
import { parseIds, parseKeys } from "./comparison/compare-search.ts";
import type { CompareSearch } from "./comparison/compare-search.ts";
import { parseComparison } from "./comparison/comparison.ts";
import type { ComparisonPage } from "./comparison/comparison.ts";
import {
  findUnfinishedIds,
  parseComparedExperiments,
  parseExperiments,
  parsePairwise,
} from "./experiment.ts";
import type { Experiment, PairwiseComparison } from "./experiment.ts";

const projectsPath = toEndpointPath("/sessions");
const runsQueryPath = toEndpointPath("/runs/query");
const comparisonsPath = toEndpointPath("/datasets/comparative");
/**
 * The limits of one page of a comparison. A page contains the output of each experiment for each of its examples, so it
 * has fewer examples if there are many experiments.
 */
const maxPageExamples = 25;
const minPageExamples = 10;
const maxPageOutputs = 300;
const experimentPageSize = 50;
const pairwisePageSize = 100;

/** The experiments on a dataset with their statistics, sorted by their start time, in pages. */
export const createExperimentsQuery = (datasetId: string, startOrder: "asc" | "desc") =>
  infiniteQueryOptions({
    queryKey: ["datasets", datasetId, "experiments", startOrder],
    queryFn: async ({ pageParam, signal }) => {
      const query = new URLSearchParams({
        reference_dataset: datasetId,
        include_stats: "true",
        sort_by: "start_time",
        sort_by_desc: String(startOrder === "desc"),
        limit: String(experimentPageSize),
        offset: String(pageParam),
      });
      return parseExperiments(await getJson(`${projectsPath}?${query}`, signal));
    },
    initialPageParam: 0,
    getNextPageParam: (page: readonly Experiment[], pages) =>
      page.length < experimentPageSize ? undefined : pages.length * experimentPageSize,
    // Keep the rows of this dataset while they are loaded in the other order. Do not show the rows of another dataset.
    placeholderData: (previousData, previousQuery) =>
      previousQuery?.queryKey[1] === datasetId ? previousData : undefined,
  });

/** An experiment that can be added to a comparison. */
export type ExperimentName = Pick<Experiment, "id" | "name">;

/** The names of the newest experiments on a dataset, without statistics, which take long to compute for many runs. */
export const createExperimentNamesQuery = (datasetId: string) =>
  queryOptions({
    queryKey: ["datasets", datasetId, "experiment-names"],
    queryFn: async ({ signal }): Promise<readonly ExperimentName[]> => {
      const query = new URLSearchParams({
        reference_dataset: datasetId,
        sort_by: "start_time",
        limit: String(experimentPageSize),
      });
      return parseExperiments(await getJson(`${projectsPath}?${query}`, signal));
    },
  });

/**
 * The milliseconds after which the comparison or the list of experiments is read again while an experiment is running.
 */
export const comparisonRefreshMs = 2_000;

/** The names and start times of experiments by id, and the ids of those that are probably running. */
export const createComparedExperimentsQuery = (ids: readonly string[]) =>
  queryOptions({
    queryKey: ["compared-experiments", ids],
    queryFn: async ({ signal }) => {
      const query = new URLSearchParams(ids.map((id) => ["id", id]));
      const value = await getJson(`${projectsPath}?${query}`, signal);
      const nowMs = Date.now();
      const unfinishedIds = findUnfinishedIds(value, nowMs);
      const lastRuns = await Promise.all(
        unfinishedIds.map(async (id): Promise<readonly (readonly [string, number])[]> => {
          const lastRunMs = await readLastRunMs(id, signal);
          return lastRunMs === undefined ? [] : [[id, lastRunMs]];
        }),
      );
      return parseComparedExperiments(value, { nowMs, lastRuns: new Map(lastRuns.flat()) });
    },
    enabled: ids.length > 0,
    placeholderData: keepPreviousData,
  });

/** Statistics of the compared experiments by id: latency, tokens and cost of all their runs. */
export const createComparedStatisticsQuery = (ids: readonly string[]) =>
  queryOptions({
    queryKey: ["compared-experiments", ids, "statistics"],
    queryFn: async ({ signal }): Promise<ReadonlyMap<string, Experiment>> => {
      const query = new URLSearchParams(ids.map((id) => ["id", id]));
      query.set("include_stats", "true");
      const experiments = parseExperiments(await getJson(`${projectsPath}?${query}`, signal));
      return new Map(experiments.map((experiment) => [experiment.id, experiment]));
    },
    enabled: ids.length > 0,
    placeholderData: keepPreviousData,
  });

/** When the latest run of a project started; `undefined` if it has no runs. */
async function readLastRunMs(projectId: string, signal: AbortSignal): Promise<number | undefined> {
  const body = { session: [projectId], select: ["start_time"], order: "desc", limit: 1 };
  const { runs } = toRecord(await postJson(runsQueryPath, body, signal));
  const [latest] = toItems(runs);
  return parseTimeMs(toRecord(latest)["start_time"]);
}

/** The pairwise comparisons of a dataset's experiments, newest first, in pages. */
export const createPairwiseQuery = (datasetId: string) =>
  infiniteQueryOptions({
    queryKey: ["datasets", datasetId, "pairwise"],
    queryFn: async ({ pageParam, signal }) => {
      const query = `limit=${pairwisePageSize}&offset=${pageParam}`;
      return parsePairwise(
        await getJson(
          `${toEndpointPath("/datasets/:id/comparative", { id: datasetId })}?${query}`,
          signal,
        ),
      );
    },
    initialPageParam: 0,
    getNextPageParam: (page: readonly PairwiseComparison[], pages) =>
      page.length < pairwisePageSize ? undefined : pages.length * pairwisePageSize,
  });

/** The fields of a new pairwise comparison. */
export interface ComparisonDraft {
  /** Generated by the caller, so that repeating the request does not create a second comparison. */
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly datasetId: string;
  readonly experimentIds: readonly string[];
}

/** Creates a pairwise comparison of experiments on one dataset. */
export const createComparison = async (draft: ComparisonDraft): Promise<unknown> =>
  postJson(comparisonsPath, {
    id: draft.id,
    name: draft.name,
    ...(draft.description === "" ? {} : { description: draft.description }),
    reference_dataset_id: draft.datasetId,
    experiment_ids: draft.experimentIds,
  });

/** The outputs and scores of experiments, joined by example and sorted by the server, in pages. */
export const createComparisonQuery = (
  datasetId: string,
  { experiments, baseline, key, lower, order, only, comparative }: CompareSearch,
) => {
  const experimentIds = parseIds(experiments);
  const pageExamples = countPageExamples(experimentIds.length);
  return infiniteQueryOptions({
    queryKey: [
      "datasets",
      datasetId,
      "comparison",
      { experiments, baseline, key, lower, order, only, comparative },
    ],
    queryFn: async ({ pageParam, signal }) =>
      parseComparison(
        await postJson(
          toEndpointPath("/ui/datasets/:id/comparison", { id: datasetId }),
          {
            experiment_ids: experimentIds,
            baseline_id: baseline,
            comparative_id: comparative,
            key,
            lower_is_better: parseKeys(lower),
            order,
            only,
            limit: pageExamples,
            offset: pageParam,
          },
          signal,
        ),
      ),
    initialPageParam: 0,
    getNextPageParam: ({ matching }: ComparisonPage, pages) =>
      pages.length * pageExamples < matching ? pages.length * pageExamples : undefined,
    placeholderData: keepPreviousData,
  });
};

const countPageExamples = (experimentCount: number): number =>
  Math.min(
    maxPageExamples,
    Math.max(minPageExamples, Math.floor(maxPageOutputs / Math.max(1, experimentCount))),
  );

/**
 * One run of an experiment with its complete outputs. The rows of a comparison contain only the beginning of the
 * outputs.
 */
export interface ExampleRun {
  readonly id: string;
  readonly traceId: string;
  readonly experimentId: string;
  readonly outputs: unknown;
  readonly error: string | undefined;
}

/** The runs of experiments on one example, with complete outputs, and the example's inputs and reference outputs. */
export const createExampleRunsQuery = (
  datasetId: string,
  {
    experiments,
    exampleId,
  }: { readonly experiments: readonly string[]; readonly exampleId: string },
) =>
  queryOptions({
    queryKey: ["datasets", datasetId, "runs", exampleId, experiments],
    queryFn: async ({ signal }) => {
      const body = { session_ids: experiments, example_ids: [exampleId], limit: 1 };
      const response = await postJson(
        toEndpointPath("/datasets/:id/runs", { id: datasetId }),
        body,
        signal,
      );
      const example = toRecord(requireItems(response, "examples")[0]);
      return {
        inputs: example["inputs"],
        reference: example["outputs"] ?? undefined,
        runs: toItems(example["runs"]).map(parseRun),
      };
    },
  });

function parseRun(value: unknown): ExampleRun {
  const run = toRecord(value);
  return {
    id: requireText(run, "id"),
    traceId: requireText(run, "trace_id"),
    experimentId: requireText(run, "session_id"),
    outputs: run["outputs"] ?? undefined,
    error: toText(run["error"]),
  };
}

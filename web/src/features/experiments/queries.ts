import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { endpointPath } from "../../api/endpoint-path.ts";
import { getJson, postJson } from "../../api/http.ts";
import { requireItems, requireText, toItems, toRecord, toText } from "../../api/parse.ts";
import { parseProjects } from "../projects/project.ts";
import { toIds, toKeys } from "./compare-search.ts";
import type { CompareSearch } from "./compare-search.ts";
import { parseComparison } from "./comparison.ts";
import type { ComparisonPage } from "./comparison.ts";
import { parseExperiments, parsePairwise } from "./experiment.ts";
import type { Experiment, PairwiseComparison } from "./experiment.ts";

const projectsPath = endpointPath("/sessions");
const createPath = endpointPath("/datasets/comparative");
const pageSize = 25;
const experimentPage = 50;
const pairwisePage = 100;

/** The experiments over a dataset, with their statistics, the newest first, page after page. */
export const experimentsQuery = (datasetId: string) =>
  infiniteQueryOptions({
    queryKey: ["datasets", datasetId, "experiments"],
    queryFn: async ({ pageParam, signal }) => {
      const query = new URLSearchParams({
        reference_dataset: datasetId,
        include_stats: "true",
        sort_by: "start_time",
        limit: String(experimentPage),
        offset: String(pageParam),
      });
      return parseExperiments(await getJson(`${projectsPath}?${query}`, signal));
    },
    initialPageParam: 0,
    getNextPageParam: (page: readonly Experiment[], pages) =>
      page.length < experimentPage ? undefined : pages.length * experimentPage,
  });

/** What experiments are called, wherever in their list they stand. */
export const experimentNamesQuery = (ids: readonly string[]) =>
  queryOptions({
    queryKey: ["experiment-names", ids],
    queryFn: async ({ signal }) => {
      const query = new URLSearchParams(ids.map((id) => ["id", id]));
      const found = parseProjects(await getJson(`${projectsPath}?${query}`, signal));
      return new Map(found.map(({ id, name }) => [id, name]));
    },
    enabled: ids.length > 0,
    placeholderData: keepPreviousData,
  });

/** The pairwise comparisons over a dataset, the newest first, page after page. */
export const pairwiseQuery = (datasetId: string) =>
  infiniteQueryOptions({
    queryKey: ["datasets", datasetId, "pairwise"],
    queryFn: async ({ pageParam, signal }) => {
      const query = `limit=${pairwisePage}&offset=${pageParam}`;
      return parsePairwise(
        await getJson(
          `${endpointPath("/datasets/:id/comparative", { id: datasetId })}?${query}`,
          signal,
        ),
      );
    },
    initialPageParam: 0,
    getNextPageParam: (page: readonly PairwiseComparison[], pages) =>
      page.length < pairwisePage ? undefined : pages.length * pairwisePage,
  });

/** What a pairwise comparison is made of. */
export interface ComparisonDraft {
  /** Made before it is sent: what is sent again is made once. */
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly datasetId: string;
  readonly experimentIds: readonly string[];
}

/** Sets experiments of one dataset side by side, to be judged against each other. */
export const createComparison = async (draft: ComparisonDraft): Promise<unknown> =>
  postJson(createPath, {
    id: draft.id,
    name: draft.name,
    ...(draft.description === "" ? {} : { description: draft.description }),
    reference_dataset_id: draft.datasetId,
    experiment_ids: draft.experimentIds,
  });

/** Experiments joined by example, page after page; what comes first is the server's to say. */
export const comparisonQuery = (
  datasetId: string,
  { experiments, baseline, key, lower, order, only, comparative }: CompareSearch,
) =>
  infiniteQueryOptions({
    queryKey: [
      "datasets",
      datasetId,
      "comparison",
      { experiments, baseline, key, lower, order, only, comparative },
    ],
    queryFn: async ({ pageParam, signal }) =>
      parseComparison(
        await postJson(
          endpointPath("/ui/datasets/:id/comparison", { id: datasetId }),
          {
            experiment_ids: toIds(experiments),
            baseline_id: baseline,
            comparative_id: comparative,
            key,
            lower_is_better: toKeys(lower),
            order,
            only,
            limit: pageSize,
            offset: pageParam,
          },
          signal,
        ),
      ),
    initialPageParam: 0,
    getNextPageParam: ({ matching }: ComparisonPage, pages) =>
      pages.length * pageSize < matching ? pages.length * pageSize : undefined,
    placeholderData: keepPreviousData,
  });

/** One run of an experiment, whole. */
export interface ExampleRun {
  readonly id: string;
  readonly traceId: string;
  readonly experimentId: string;
  readonly outputs: unknown;
  readonly error: string | undefined;
}

/** What experiments answered on one example, whole, and its reference outputs. */
export const exampleRunsQuery = (
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
      const answer = await postJson(
        endpointPath("/datasets/:id/runs", { id: datasetId }),
        body,
        signal,
      );
      const example = toRecord(requireItems(answer, "examples")[0]);
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

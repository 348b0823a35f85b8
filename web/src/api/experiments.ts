import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import type { endpoints, uiEndpoints } from "millrace/model";
import type { CompareSearch } from "../lib/compare-search.ts";
import { toIds, toKeys } from "../lib/compare-search.ts";
import { parseComparison } from "../lib/comparison.ts";
import type { ComparisonPage } from "../lib/comparison.ts";
import { parseExperiments, parsePairwise } from "../lib/experiment.ts";
import { needItems, needText, toItems, toRecord, toText } from "../lib/members.ts";
import { datasetPath } from "./datasets.ts";
import { fill } from "./examples.ts";
import { getJson, postJson } from "./http.ts";

const projectsPath: (typeof endpoints)["listProjects"]["path"] = "/sessions";
const comparisonPath: (typeof uiEndpoints)["compareExperiments"]["path"] =
  "/ui/datasets/:id/comparison";
const pageSize = 25;
const experimentPage = 100;

/** The experiments over a dataset, with their statistics, the latest first. */
export const experimentsQuery = (datasetId: string) =>
  queryOptions({
    queryKey: ["datasets", datasetId, "experiments"],
    queryFn: async ({ signal }) => {
      const query = `reference_dataset=${encodeURIComponent(datasetId)}&include_stats=true&limit=${experimentPage}`;
      const found = parseExperiments(await getJson(`${projectsPath}?${query}`, signal));
      return found.toSorted((one, other) => other.startMs - one.startMs);
    },
  });

export const pairwiseQuery = (datasetId: string) =>
  queryOptions({
    queryKey: ["datasets", datasetId, "pairwise"],
    queryFn: async ({ signal }) =>
      parsePairwise(await getJson(`${datasetPath(datasetId)}/comparative?limit=100`, signal)),
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
          fill(comparisonPath, datasetId),
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
      const answer = await postJson(`${datasetPath(datasetId)}/runs`, body, signal);
      const example = toRecord(needItems(answer, "examples")[0]);
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
    id: needText(run, "id"),
    traceId: needText(run, "trace_id"),
    experimentId: needText(run, "session_id"),
    outputs: run["outputs"] ?? undefined,
    error: toText(run["error"]),
  };
}

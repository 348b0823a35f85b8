import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { toEndpointPath } from "../../../api/endpoint-path.ts";
import { callJson, getJson, postJson } from "../../../api/http.ts";
import { createModelHeaders } from "../../../api/model-session.ts";
import { requireItems, requireText, toItems, toRecord, toText } from "../../../api/parse.ts";
import type { LaunchBody } from "./launch-draft.ts";
import { isActive, parseEstimate, parseExperimentJobs, parseScorers } from "./launch.ts";
import type { ExperimentJob } from "./launch.ts";

export const scorersQuery = queryOptions({
  queryKey: ["experiments", "scorers"],
  queryFn: async ({ signal }) =>
    parseScorers(await getJson(toEndpointPath("/ui/experiments/scorers"), signal)),
  staleTime: Number.POSITIVE_INFINITY,
});

/** The maximum number of prompts that the field suggests. */
const promptLimit = 100;

/** The names of the tenant's prompts, with the last updated first. */
export const createPromptNamesQuery = (tenantId: string) =>
  queryOptions({
    queryKey: ["experiments", "prompts", tenantId],
    queryFn: async ({ signal }): Promise<readonly string[]> => {
      const query = new URLSearchParams({
        tenant_id: tenantId,
        limit: String(promptLimit),
        sort_field: "updated_at",
        sort_direction: "desc",
      });
      const response = toRecord(await getJson(`${toEndpointPath("/repos")}?${query}`, signal));
      return toItems(response["repos"]).flatMap(
        (prompt) => toText(toRecord(prompt)["repo_handle"]) ?? [],
      );
    },
  });

/** Estimates what experiments cost. */
export const createEstimateQuery = (body: LaunchBody | undefined) =>
  queryOptions({
    queryKey: ["experiments", "estimate", body],
    queryFn: async ({ signal }) =>
      parseEstimate(await postJson(toEndpointPath("/ui/experiments/estimate"), body, signal)),
    enabled: body !== undefined,
    placeholderData: keepPreviousData,
    retry: false,
  });

/** Starts experiments, and returns their ids. */
export async function startExperiments(body: LaunchBody): Promise<readonly string[]> {
  const response = await callJson(toEndpointPath("/ui/experiments/start"), {
    method: "POST",
    headers: createModelHeaders(),
    body,
  });
  return requireItems(toRecord(response)["experiments"], "experiments").map((item) =>
    requireText(toRecord(item), "experiment_id"),
  );
}

/** How often the progress of jobs is read, in milliseconds. */
const progressRefreshMs = 1_000;

/** The jobs that run experiments, for all datasets. The query polls while a job is queued or running. */
export const experimentJobsQuery = queryOptions({
  queryKey: ["experiments", "jobs"],
  queryFn: async ({ signal }) =>
    parseExperimentJobs(await getJson(toEndpointPath("/ui/experiments/jobs"), signal)),
  refetchInterval: ({ state: { data } }) =>
    data?.some(isActive) === true ? progressRefreshMs : false,
});

/** The jobs that run the given experiments. */
export const createExperimentJobsQuery = (experimentIds: readonly string[]) => {
  const isRequested = ({ experimentId }: ExperimentJob): boolean =>
    experimentIds.includes(experimentId);
  return {
    ...experimentJobsQuery,
    select: (jobs: readonly ExperimentJob[]) => jobs.filter(isRequested),
    enabled: experimentIds.length > 0,
  };
};

export const cancelJob = async (id: string): Promise<unknown> =>
  postJson(toEndpointPath("/ui/jobs/:id/cancel", { id }), {});

export const retryJob = async (id: string): Promise<unknown> =>
  postJson(toEndpointPath("/ui/jobs/:id/retry", { id }), {});

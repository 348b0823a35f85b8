import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import type { QueryClient } from "@tanstack/react-query";
import { toEndpointPath } from "../../api/endpoint-path.ts";
import { getJson, postJson } from "../../api/http.ts";
import { isActive, parseJob, parseJobs } from "./job.ts";
import type { Job } from "./job.ts";

const jobsPath = toEndpointPath("/ui/jobs");
const jobsPerPage = 50;
/** The interval, in milliseconds, at which jobs are read again while a job is queued or running. */
const refetchIntervalMs = 1_000;
const latestCount = 20;

/** The first item of the query keys of all queries of jobs. */
export const jobsKey = "jobs";

const toRefetchInterval = (jobs: readonly Job[] | undefined): number | false =>
  jobs?.some(isActive) === true ? refetchIntervalMs : false;

/** The latest jobs, for the menu in the bar at the top. */
export const latestJobsQuery = queryOptions({
  queryKey: [jobsKey, "latest"],
  queryFn: async ({ signal }) =>
    parseJobs(await getJson(`${jobsPath}?limit=${latestCount}`, signal)),
  refetchInterval: ({ state: { data } }) => toRefetchInterval(data),
});

/** All jobs, the newest first, in pages. */
export const jobListQuery = infiniteQueryOptions({
  queryKey: [jobsKey, "list"],
  queryFn: async ({ pageParam, signal }) =>
    parseJobs(await getJson(`${jobsPath}?limit=${jobsPerPage}&offset=${pageParam}`, signal)),
  initialPageParam: 0,
  getNextPageParam: (page: readonly Job[], pages) =>
    page.length < jobsPerPage ? undefined : pages.length * jobsPerPage,
  refetchInterval: ({ state: { data } }) => toRefetchInterval(data?.pages.flat()),
});

/** The ids of the jobs that were started in this tab. A notice is shown only when one of these jobs ends. */
const startedIds = new Set<string>();

export const isStartedInThisTab = (id: string): boolean => startedIds.has(id);

export async function startJob(
  queryClient: QueryClient,
  kind: string,
  parameters: object,
): Promise<Job> {
  const job = parseJob(await postJson(jobsPath, { kind, parameters }));
  await trackStartedJob(queryClient, job.id);
  return job;
}

/**
 * Registers a job as started in this tab, so that the job menu lists it and shows a notice when it ends. Call this
 * function after starting a job without {@link startJob}.
 */
export async function trackStartedJob(queryClient: QueryClient, id: string): Promise<void> {
  startedIds.add(id);
  await queryClient.invalidateQueries({ queryKey: [jobsKey] });
}

export async function cancelJob(queryClient: QueryClient, id: string): Promise<void> {
  await postJson(toEndpointPath("/ui/jobs/:id/cancel", { id }), {});
  await queryClient.invalidateQueries({ queryKey: [jobsKey] });
}

export async function retryJob(queryClient: QueryClient, id: string): Promise<void> {
  await postJson(toEndpointPath("/ui/jobs/:id/retry", { id }), {});
  await trackStartedJob(queryClient, id);
}

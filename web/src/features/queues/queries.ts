import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { toEndpointPath } from "../../api/endpoint-path.ts";
import { deleteJson, getJson, patchJson, postJson } from "../../api/http.ts";
import type { QueueFields } from "./queue-draft.ts";
import {
  parseClaim,
  parseListedQueues,
  parseProgress,
  parseQueue,
  parseQueuedRuns,
} from "./queue.ts";
import type { Claim, ListedQueue, Queue, QueuedRun } from "./queue.ts";

const queuesPath = toEndpointPath("/annotation-queues");
const listPath = toEndpointPath("/ui/annotation-queues");

const pageSize = 100;
const refetchIntervalMs = 5_000;

const toQueuePath = (id: string): string => toEndpointPath("/annotation-queues/:id", { id });

/** The tenant's queues with their progress, newest first, in pages. */
export const createQueuesQuery = (name: string | undefined, reviewer: string | undefined) =>
  infiniteQueryOptions({
    queryKey: ["queues", "list", { name, reviewer }],
    queryFn: async ({ pageParam, signal }) => {
      const query = new URLSearchParams({
        limit: String(pageSize),
        offset: String(pageParam),
        ...(name === undefined ? {} : { name_contains: name }),
        ...(reviewer === undefined ? {} : { reviewer }),
      });
      return parseListedQueues(await getJson(`${listPath}?${query.toString()}`, signal));
    },
    initialPageParam: 0,
    getNextPageParam: (page: readonly ListedQueue[], pages) =>
      page.length < pageSize ? undefined : pages.length * pageSize,
    placeholderData: keepPreviousData,
    refetchInterval: refetchIntervalMs * 2,
  });

export const createQueueQuery = (id: string) =>
  queryOptions({
    queryKey: ["queues", id],
    queryFn: async ({ signal }): Promise<Queue> =>
      parseQueue(await getJson(toQueuePath(id), signal)),
  });

export const createProgressQuery = (id: string, reviewer: string) =>
  queryOptions({
    queryKey: ["queues", id, "progress", reviewer],
    queryFn: async ({ signal }) => {
      const query = new URLSearchParams({ reviewer });
      return parseProgress(
        await getJson(
          `${toEndpointPath("/ui/annotation-queues/:id/progress", { id })}?${query.toString()}`,
          signal,
        ),
      );
    },
    refetchInterval: refetchIntervalMs,
  });

/** The runs of a queue in queue order, in pages. */
export const createQueuedRunsQuery = (id: string) =>
  infiniteQueryOptions({
    queryKey: ["queues", id, "runs"],
    queryFn: async ({ pageParam, signal }) =>
      parseQueuedRuns(
        await getJson(
          `${toEndpointPath("/ui/annotation-queues/:id/runs", { id })}?limit=${pageSize}&offset=${pageParam}`,
          signal,
        ),
      ),
    initialPageParam: 0,
    getNextPageParam: (page: readonly QueuedRun[], pages) =>
      page.length < pageSize ? undefined : pages.length * pageSize,
    refetchInterval: refetchIntervalMs * 2,
  });

/** The caller generates `id`, so that repeating the request does not create a second queue. */
export const createQueue = async (id: string, fields: QueueFields): Promise<Queue> =>
  parseQueue(await postJson(queuesPath, { id, ...fields }));

export const updateQueue = async (id: string, fields: QueueFields): Promise<Queue> =>
  parseQueue(await patchJson(toQueuePath(id), fields));

export const deleteQueue = async (id: string): Promise<unknown> => deleteJson(toQueuePath(id));

export const addQueueRuns = async (id: string, runIds: readonly string[]): Promise<unknown> =>
  postJson(toEndpointPath("/annotation-queues/:id/runs", { id }), runIds);

export const removeQueueRun = async (id: string, positionId: string): Promise<unknown> =>
  deleteJson(
    toEndpointPath("/annotation-queues/:id/runs/:queueRunId", { id, queueRunId: positionId }),
  );

/** Which run of a queue a reviewer requests; if no field is set, the next run that this reviewer has not reviewed. */
export interface ClaimRequest {
  /** Requests the run at this queue position. */
  readonly queue_run_id?: string;
  /** Requests the first waiting run after this queue position. */
  readonly after?: string;
  /** Requests the last waiting run before this queue position. */
  readonly before?: string;
}

/** A reviewer who works through a queue. */
export interface ReviewSession {
  readonly queueId: string;
  readonly reviewer: string;
}

/** Claims a run, or renews the claim. Returns `null` if no run is waiting. */
export const claimRun = async (
  { queueId, reviewer }: ReviewSession,
  request: ClaimRequest,
  signal?: AbortSignal,
): Promise<Claim | null> =>
  parseClaim(
    await postJson(
      toEndpointPath("/ui/annotation-queues/:id/claim", { id: queueId }),
      { reviewer, ...request },
      signal,
    ),
  );

export const releaseRun = async (
  { queueId, reviewer }: ReviewSession,
  positionId: string,
  { isSkipped }: { readonly isSkipped: boolean },
): Promise<unknown> =>
  postJson(
    toEndpointPath("/ui/annotation-queues/:id/runs/:queueRunId/release", {
      id: queueId,
      queueRunId: positionId,
    }),
    { reviewer, skipped: isSkipped },
  );

export const finishRun = async (
  { queueId, reviewer }: ReviewSession,
  positionId: string,
): Promise<unknown> =>
  postJson(
    toEndpointPath("/ui/annotation-queues/:id/runs/:queueRunId/done", {
      id: queueId,
      queueRunId: positionId,
    }),
    { reviewer },
  );

export const reopenRun = async (
  { queueId, reviewer }: ReviewSession,
  positionId: string,
): Promise<Claim | null> =>
  parseClaim(
    await postJson(
      toEndpointPath("/ui/annotation-queues/:id/runs/:queueRunId/reopen", {
        id: queueId,
        queueRunId: positionId,
      }),
      { reviewer },
    ),
  );

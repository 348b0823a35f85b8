import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { endpointPath } from "../../api/endpoint-path.ts";
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

const path = endpointPath("/annotation-queues");
const uiPath = endpointPath("/ui/annotation-queues");

const pageSize = 100;
const refetchMs = 5_000;

const queuePath = (id: string): string => endpointPath("/annotation-queues/:id", { id });

/** The queues with how far each is, the latest first, page after page. */
export const queuesQuery = (name: string | undefined, reviewer: string | undefined) =>
  infiniteQueryOptions({
    queryKey: ["queues", "list", { name, reviewer }],
    queryFn: async ({ pageParam, signal }) => {
      const query = new URLSearchParams({
        limit: String(pageSize),
        offset: String(pageParam),
        ...(name === undefined ? {} : { name_contains: name }),
        ...(reviewer === undefined ? {} : { reviewer }),
      });
      return parseListedQueues(await getJson(`${uiPath}?${query.toString()}`, signal));
    },
    initialPageParam: 0,
    getNextPageParam: (page: readonly ListedQueue[], pages) =>
      page.length < pageSize ? undefined : pages.length * pageSize,
    placeholderData: keepPreviousData,
    refetchInterval: refetchMs * 2,
  });

export const queueQuery = (id: string) =>
  queryOptions({
    queryKey: ["queues", id],
    queryFn: async ({ signal }): Promise<Queue> => parseQueue(await getJson(queuePath(id), signal)),
  });

export const progressQuery = (id: string, reviewer: string) =>
  queryOptions({
    queryKey: ["queues", id, "progress", reviewer],
    queryFn: async ({ signal }) => {
      const query = new URLSearchParams({ reviewer });
      return parseProgress(
        await getJson(
          `${endpointPath("/ui/annotation-queues/:id/progress", { id })}?${query.toString()}`,
          signal,
        ),
      );
    },
    refetchInterval: refetchMs,
  });

/** The runs of a queue in its order, page after page. */
export const queuedRunsQuery = (id: string) =>
  infiniteQueryOptions({
    queryKey: ["queues", id, "runs"],
    queryFn: async ({ pageParam, signal }) =>
      parseQueuedRuns(
        await getJson(
          `${endpointPath("/ui/annotation-queues/:id/runs", { id })}?limit=${pageSize}&offset=${pageParam}`,
          signal,
        ),
      ),
    initialPageParam: 0,
    getNextPageParam: (page: readonly QueuedRun[], pages) =>
      page.length < pageSize ? undefined : pages.length * pageSize,
    refetchInterval: refetchMs * 2,
  });

/** `id` is made before it is sent: what is sent again is made once. */
export const createQueue = async (id: string, fields: QueueFields): Promise<Queue> =>
  parseQueue(await postJson(path, { id, ...fields }));

export const updateQueue = async (id: string, fields: QueueFields): Promise<Queue> =>
  parseQueue(await patchJson(queuePath(id), fields));

export const deleteQueue = async (id: string): Promise<unknown> => deleteJson(queuePath(id));

export const addQueueRuns = async (id: string, runIds: readonly string[]): Promise<unknown> =>
  postJson(endpointPath("/annotation-queues/:id/runs", { id }), runIds);

export const removeQueueRun = async (id: string, positionId: string): Promise<unknown> =>
  deleteJson(
    endpointPath("/annotation-queues/:id/runs/:queueRunId", { id, queueRunId: positionId }),
  );

/** Which run a reviewer asks for; none named: the next that waits for them. */
export interface ClaimRequest {
  readonly queue_run_id?: string;
  readonly after?: string;
  readonly before?: string;
}

/** One reviewer at one queue. */
export interface ReviewSession {
  readonly queueId: string;
  readonly reviewer: string;
}

/** Claims a run, or renews the claim. `null`: none waits. */
export const claimRun = async (
  { queueId, reviewer }: ReviewSession,
  request: ClaimRequest,
  signal?: AbortSignal,
): Promise<Claim | null> =>
  parseClaim(
    await postJson(
      endpointPath("/ui/annotation-queues/:id/claim", { id: queueId }),
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
    endpointPath("/ui/annotation-queues/:id/runs/:queueRunId/release", {
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
    endpointPath("/ui/annotation-queues/:id/runs/:queueRunId/done", {
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
      endpointPath("/ui/annotation-queues/:id/runs/:queueRunId/reopen", {
        id: queueId,
        queueRunId: positionId,
      }),
      { reviewer },
    ),
  );

import type { FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { Static } from "typebox";
import { RequestError } from "../model/errors.ts";
import { personNamePattern } from "../http/author.ts";
import { Maybe } from "../http/schema-parts.ts";
import { serverLimits } from "../model/options.ts";
import type { ReviewKey, ReviewChoice } from "./queue-review.ts";
import { namelessReviewer } from "./queue-review.ts";
import type { QueueStore } from "./queue-store.ts";
import { toEntryJson, toQueueJson } from "./annotation-queue-json.ts";
import { toClaimJson, toProgressJson, toListedEntryJson } from "./queue-review-json.ts";
import { parseStatus } from "./queue-run-handlers.ts";
import { findQueue, readQueueId, parseQueueQuery } from "./annotation-queue-handlers.ts";
import { firstValue, parseId, parsePage } from "../http/query-string.ts";
import type { QueryString } from "../http/query-string.ts";

/** The name of a reviewer, which people choose themselves: reviewers have no accounts. */
const Reviewer = Type.String({
  minLength: 1,
  maxLength: serverLimits.reviewerChars,
  pattern: personNamePattern,
});

/** Body of `POST /ui/annotation-queues/{id}/claim`. */
export const claimBody = Type.Object({
  reviewer: Reviewer,
  /** If set, claims this entry instead of the next one. */
  queue_run_id: Maybe(Type.String()),
  /** If set, claims the nearest waiting entry after this one. */
  after: Maybe(Type.String()),
  /** If set, claims the nearest waiting entry before this one. */
  before: Maybe(Type.String()),
});

/** Body of the requests that release, finish or reopen an entry. */
export const reviewBody = Type.Object({ reviewer: Reviewer, skipped: Maybe(Type.Boolean()) });

export type ClaimBody = Static<typeof claimBody>;
export type ReviewBody = Static<typeof reviewBody>;

/** `GET /ui/annotation-queues`: lists queues as `GET /annotation-queues` does, with the review progress of each. */
export async function listReviewedQueues(
  store: QueueStore,
  request: FastifyRequest,
): Promise<unknown> {
  const { tenantId } = request;
  const query = request.query as QueryString;
  const queues = await store.read.annotationQueues.list(tenantId, parseQueueQuery(query));
  const reviewer = firstValue(query, "reviewer") ?? namelessReviewer;
  return Promise.all(
    queues.map(async (queue) => ({
      ...toQueueJson(queue),
      progress: toProgressJson(
        await store.read.queueReviews.readProgress(tenantId, queue.id, reviewer),
        reviewer,
      ),
    })),
  );
}

/** Handles `GET /ui/annotation-queues/{id}/progress`. */
export async function readQueueProgress(
  store: QueueStore,
  request: FastifyRequest,
): Promise<unknown> {
  const { id } = await findQueue(store, request);
  const reviewer = firstValue(request.query as QueryString, "reviewer") ?? namelessReviewer;
  const progress = await store.read.queueReviews.readProgress(request.tenantId, id, reviewer);
  return toProgressJson(progress, reviewer);
}

/** `GET /ui/annotation-queues/{id}/runs`: lists the entries of a queue, without the payloads of their runs. */
export async function listReviewedRuns(
  store: QueueStore,
  request: FastifyRequest,
): Promise<unknown> {
  const query = request.query as QueryString;
  const [page, status] = [parsePage(query), parseStatus(query)];
  const { id: queueId } = await findQueue(store, request);
  const entryQuery = { queueId, status, ...page };
  return (await store.read.queueReviews.listRuns(request.tenantId, entryQuery)).map(
    toListedEntryJson,
  );
}

/** `POST /ui/annotation-queues/{id}/claim`: claims an entry and returns it; null if no entry waits for the reviewer. */
export async function claimQueueRun(
  store: QueueStore,
  request: FastifyRequest<{ Body: ClaimBody }>,
): Promise<unknown> {
  const { reviewer } = request.body;
  const choice = parseChoice(request.body);
  const claim = { queueId: readQueueId(request), reviewer, choice };
  const claimedRun = await store.write.queueReviews.claim(request.tenantId, claim);
  return { run: claimedRun === undefined ? null : toClaimJson(claimedRun) };
}

/** Handles `POST /ui/annotation-queues/{id}/runs/{queue_run_id}/release`. */
export async function releaseQueueRun(
  store: QueueStore,
  request: FastifyRequest<{ Body: ReviewBody }>,
): Promise<unknown> {
  const key = readReviewKey(request);
  await store.write.queueReviews.release(request.tenantId, key, request.body.skipped === true);
  return { id: key.entryId };
}

/** Handles `POST /ui/annotation-queues/{id}/runs/{queue_run_id}/done`. */
export async function finishQueueRun(
  store: QueueStore,
  request: FastifyRequest<{ Body: ReviewBody }>,
): Promise<unknown> {
  return toEntryJson(
    await store.write.queueReviews.finish(request.tenantId, readReviewKey(request)),
  );
}

/** Handles `POST /ui/annotation-queues/{id}/runs/{queue_run_id}/reopen`. */
export async function reopenQueueRun(
  store: QueueStore,
  request: FastifyRequest<{ Body: ReviewBody }>,
): Promise<unknown> {
  const claimed = await store.write.queueReviews.reopen(request.tenantId, readReviewKey(request));
  return { run: toClaimJson(claimed) };
}

function parseChoice({ queue_run_id: entryId, after, before }: ClaimBody): ReviewChoice {
  const choices = [
    { kind: "this", id: entryId },
    { kind: "after", id: after },
    { kind: "before", id: before },
  ] as const;
  const presentChoices = choices.filter(({ id }) => typeof id === "string");
  if (presentChoices.length > 1) {
    throw new RequestError(422, "pass at most one of queue_run_id, after and before");
  }
  const [choice] = presentChoices;
  return choice === undefined
    ? { kind: "next" }
    : { kind: choice.kind, entryId: parseId(choice.id, "queue run id") };
}

const readReviewKey = (request: FastifyRequest<{ Body: ReviewBody }>): ReviewKey => ({
  queueId: readQueueId(request),
  entryId: parseId((request.params as { readonly queueRunId: string }).queueRunId, "queue run id"),
  reviewer: request.body.reviewer,
});

import type { FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { Static } from "typebox";
import { RequestError } from "../model/errors.ts";
import { Maybe } from "../http/schema-parts.ts";
import { serverLimits } from "../model/options.ts";
import type { ReviewKey, ReviewPick } from "./queue-review.ts";
import { namelessReviewer } from "./queue-review.ts";
import type { QueueStore } from "./queue-store.ts";
import { toEntryJson, toQueueJson } from "./annotation-queue-json.ts";
import { toClaimJson, toProgressJson, toReviewedRunJson } from "./queue-review-json.ts";
import { parseStatus } from "./queue-run-handlers.ts";
import { findQueue, idOf, parseQueueQuery } from "./annotation-queue-handlers.ts";
import { firstValue, parseId, parsePage } from "../http/query-string.ts";
import type { QueryString } from "../http/query-string.ts";

/** The name that a reviewer chose. Reviewers have no accounts, so nothing else identifies them. */
const Reviewer = Type.String({
  minLength: 1,
  maxLength: serverLimits.reviewerChars,
  pattern: String.raw`^(?!\s)[^\p{Cc}\p{Cs}]*(?<!\s)$`,
});

/** Body of `POST /ui/annotation-queues/{id}/claim`. */
export const claimBody = Type.Object({
  reviewer: Reviewer,
  /** Claims this entry instead of the next one. */
  queue_run_id: Maybe(Type.String()),
  /** Claims the next entry after this one. */
  after: Maybe(Type.String()),
  /** Claims the last entry before this one. */
  before: Maybe(Type.String()),
});

/** Body of the requests about an entry that the reviewer has claimed. */
export const reviewBody = Type.Object({ reviewer: Reviewer, skipped: Maybe(Type.Boolean()) });

export type ClaimBody = Static<typeof claimBody>;
export type ReviewBody = Static<typeof reviewBody>;

/** `GET /ui/annotation-queues`: as `GET /annotation-queues`, with the review progress of each queue. */
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
        await store.read.queueReviews.progress(tenantId, queue.id, reviewer),
        reviewer,
      ),
    })),
  );
}

/** `GET /ui/annotation-queues/{id}/progress`. */
export async function readQueueProgress(
  store: QueueStore,
  request: FastifyRequest,
): Promise<unknown> {
  const { id } = await findQueue(store, request);
  const reviewer = firstValue(request.query as QueryString, "reviewer") ?? namelessReviewer;
  const progress = await store.read.queueReviews.progress(request.tenantId, id, reviewer);
  return toProgressJson(progress, reviewer);
}

/** `GET /ui/annotation-queues/{id}/runs`: the entries of a queue, without payloads. */
export async function listReviewedRuns(
  store: QueueStore,
  request: FastifyRequest,
): Promise<unknown> {
  const query = request.query as QueryString;
  const [page, status] = [parsePage(query), parseStatus(query)];
  const { id: queueId } = await findQueue(store, request);
  const entryQuery = { queueId, status, ...page };
  return (await store.read.queueReviews.listRuns(request.tenantId, entryQuery)).map(
    toReviewedRunJson,
  );
}

/** `POST /ui/annotation-queues/{id}/claim`: the claimed entry, or null if none is waiting. */
export async function claimQueueRun(
  store: QueueStore,
  request: FastifyRequest<{ Body: ClaimBody }>,
): Promise<unknown> {
  const { reviewer } = request.body;
  const pick = parsePick(request.body);
  const claim = { queueId: idOf(request), reviewer, pick };
  const claimed = await store.write.queueReviews.claim(request.tenantId, claim);
  return { run: claimed === undefined ? null : toClaimJson(claimed) };
}

/** `POST /ui/annotation-queues/{id}/runs/{queue_run_id}/release`. */
export async function releaseQueueRun(
  store: QueueStore,
  request: FastifyRequest<{ Body: ReviewBody }>,
): Promise<unknown> {
  const key = keyOf(request);
  await store.write.queueReviews.release(request.tenantId, key, request.body.skipped === true);
  return { id: key.entryId };
}

/** `POST /ui/annotation-queues/{id}/runs/{queue_run_id}/done`. */
export async function finishQueueRun(
  store: QueueStore,
  request: FastifyRequest<{ Body: ReviewBody }>,
): Promise<unknown> {
  return toEntryJson(await store.write.queueReviews.finish(request.tenantId, keyOf(request)));
}

/** `POST /ui/annotation-queues/{id}/runs/{queue_run_id}/reopen`. */
export async function reopenQueueRun(
  store: QueueStore,
  request: FastifyRequest<{ Body: ReviewBody }>,
): Promise<unknown> {
  const claimed = await store.write.queueReviews.reopen(request.tenantId, keyOf(request));
  return { run: toClaimJson(claimed) };
}

function parsePick({ queue_run_id: entryId, after, before }: ClaimBody): ReviewPick {
  const picks = [
    { kind: "this", id: entryId },
    { kind: "after", id: after },
    { kind: "before", id: before },
  ] as const;
  const usedPicks = picks.filter(({ id }) => typeof id === "string");
  if (usedPicks.length > 1) {
    throw new RequestError(422, "pass at most one of queue_run_id, after and before");
  }
  const [pick] = usedPicks;
  return pick === undefined
    ? { kind: "next" }
    : { kind: pick.kind, entryId: parseId(pick.id, "queue run id") };
}

const keyOf = (request: FastifyRequest<{ Body: ReviewBody }>): ReviewKey => ({
  queueId: idOf(request),
  entryId: parseId((request.params as { readonly queueRunId: string }).queueRunId, "queue run id"),
  reviewer: request.body.reviewer,
});

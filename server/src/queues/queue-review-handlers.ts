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
import { first, parseId, parsePage } from "../http/query-string.ts";
import type { QueryString } from "../http/query-string.ts";

/** Names that people give themselves: without an account there is nothing else to know them by. */
const Reviewer = Type.String({
  minLength: 1,
  maxLength: serverLimits.reviewerChars,
  pattern: String.raw`^(?!\s)[^\p{Cc}\p{Cs}]*(?<!\s)$`,
});

/** Body of `POST /ui/annotation-queues/{id}/claim`. */
export const claimBody = Type.Object({
  reviewer: Reviewer,
  /** This run, rather than the next one. */
  queue_run_id: Maybe(Type.String()),
  /** The nearest behind this one. */
  after: Maybe(Type.String()),
  /** The nearest before this one. */
  before: Maybe(Type.String()),
});

/** Body of the calls on a run that a reviewer has. */
export const reviewBody = Type.Object({ reviewer: Reviewer, skipped: Maybe(Type.Boolean()) });

export type ClaimBody = Static<typeof claimBody>;
export type ReviewBody = Static<typeof reviewBody>;

/** `GET /ui/annotation-queues`: those of `GET /annotation-queues`, each with how far it is. */
export async function listReviewedQueues(
  store: QueueStore,
  request: FastifyRequest,
): Promise<unknown> {
  const { tenantId } = request;
  const query = request.query as QueryString;
  const queues = await store.read.annotationQueues.list(tenantId, parseQueueQuery(query));
  const reviewer = first(query, "reviewer") ?? namelessReviewer;
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
  const reviewer = first(request.query as QueryString, "reviewer") ?? namelessReviewer;
  const progress = await store.read.queueReviews.progress(request.tenantId, id, reviewer);
  return toProgressJson(progress, reviewer);
}

/** `GET /ui/annotation-queues/{id}/runs`: without what they hold. */
export async function listReviewedRuns(
  store: QueueStore,
  request: FastifyRequest,
): Promise<unknown> {
  const query = request.query as QueryString;
  const [page, status] = [parsePage(query), parseStatus(query)];
  const { id: queueId } = await findQueue(store, request);
  const asked = { queueId, status, ...page };
  return (await store.read.queueReviews.listRuns(request.tenantId, asked)).map(toReviewedRunJson);
}

/** `POST /ui/annotation-queues/{id}/claim`: the run, or null where none waits. */
export async function claimQueueRun(
  store: QueueStore,
  request: FastifyRequest<{ Body: ClaimBody }>,
): Promise<unknown> {
  const { reviewer } = request.body;
  const pick = pickOf(request.body);
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

function pickOf({ queue_run_id: one, after, before }: ClaimBody): ReviewPick {
  const picks = [
    { kind: "this", id: one },
    { kind: "after", id: after },
    { kind: "before", id: before },
  ] as const;
  const given = picks.filter(({ id }) => typeof id === "string");
  if (given.length > 1) {
    throw new RequestError(422, "one of queue_run_id, after and before is given, or none");
  }
  const [pick] = given;
  return pick === undefined
    ? { kind: "next" }
    : { kind: pick.kind, entryId: parseId(pick.id, "queue run id") };
}

const keyOf = (request: FastifyRequest<{ Body: ReviewBody }>): ReviewKey => ({
  queueId: idOf(request),
  entryId: parseId((request.params as { readonly queueRunId: string }).queueRunId, "queue run id"),
  reviewer: request.body.reviewer,
});

import { sql } from "kysely";
import { Query } from "../storage/query.ts";
import type { Parameters } from "../storage/query.ts";
import { queueBuilder, selectFromEntries, selectPlace } from "./annotation-queue-queries.ts";

/** Maximum number of reviewers in the progress of a queue. */
const maxReviewers = 100;

interface QueueKey {
  readonly tenantId: string;
  readonly queueId: string;
}

interface ReviewKey extends QueueKey {
  readonly entryId: string;
  readonly reviewer: string;
}

interface ReviewState extends ReviewKey {
  readonly untilMicros: number | null;
  readonly skippedMicros: number | null;
}

/** The values of a query for entries that wait for a reviewer. */
interface WaitingValues extends QueueKey {
  readonly reviewer: string;
  readonly reviewersPerRun: number;
  /** Claims that end before this time have expired. */
  readonly nowMicros: number;
}

/** Selects entries `e` that the reviewer has not finished, and that need one more reviewer. */
const selectWaiting = (waitingValues: Parameters<WaitingValues>) =>
  selectFromEntries(waitingValues)
    .select("e.id")
    .where("e.completed_us", "is", null)
    .where((eb) => {
      const reviews = eb
        .selectFrom("annotation_queue_reviews as v")
        .whereRef("v.place", "=", "e.place");
      const otherReviewerCount = reviews
        .select((reviewBuilder) => reviewBuilder.fn.countAll<number>().as("count"))
        .where("v.reviewer", "<>", waitingValues.reviewer)
        .where((review) =>
          review.or([
            review("v.done_us", "is not", null),
            review("v.until_us", ">", waitingValues.nowMicros),
          ]),
        );
      const ownFinishedReview = reviews
        .select("v.place")
        .where("v.reviewer", "=", waitingValues.reviewer)
        .where("v.done_us", "is not", null);
      return eb.and([
        eb(otherReviewerCount, "<", waitingValues.reviewersPerRun),
        eb.not(eb.exists(ownFinishedReview)),
      ]);
    });

/**
 * Creates the condition that compares the position of an entry `e` with that of another entry. The condition compares
 * row values, because SQLite then seeks in the index that orders the queue instead of scanning it.
 */
const createPositionCondition = (
  operator: "<" | ">",
  { tenantId, queueId, entryId }: Parameters<QueueKey & { entryId: string }>,
) =>
  sql<boolean>`(e.added_us, e.place) ${sql.raw(operator)} (${queueBuilder
    .selectFrom("annotation_queue_runs")
    .select(["added_us", "place"])
    .where("tenant_id", "=", tenantId)
    .where("queue_id", "=", queueId)
    .where("id", "=", entryId)})`;

/** Selects the nearest waiting entry after or before another one. */
const selectNearest = (
  operator: "<" | ">",
  waitingValues: Parameters<WaitingValues & { entryId: string }>,
) => {
  const direction = operator === ">" ? "asc" : "desc";
  return selectWaiting(waitingValues)
    .where(createPositionCondition(operator, waitingValues))
    .orderBy("e.added_us", direction)
    .orderBy("e.place", direction)
    .limit(1);
};

/** Claims an entry or releases it. Claiming does not change the stored time at which the reviewer skipped the entry. */
const writeReview = (review: Parameters<ReviewState>, kind: "claim" | "release") =>
  queueBuilder
    .insertInto("annotation_queue_reviews")
    .columns(["place", "reviewer", "until_us", "skipped_us", "tenant_id", "queue_id"])
    .expression(
      selectPlace(review).select([
        sql<string>`${review.reviewer}`.as("reviewer"),
        sql<number | null>`${review.untilMicros}`.as("until_us"),
        sql<number | null>`${review.skippedMicros}`.as("skipped_us"),
        "tenant_id",
        "queue_id",
      ]),
    )
    .onConflict((conflict) =>
      conflict.columns(["place", "reviewer"]).doUpdateSet((eb) => ({
        until_us: eb.ref("excluded.until_us"),
        ...(kind === "release" && { skipped_us: eb.ref("excluded.skipped_us") }),
      })),
    );

/** The queries for the review of runs in annotation queues. */
export const queueReviewQueries = {
  readSizes: new Query((queue: Parameters<QueueKey>) => {
    const size = selectFromEntries(queue).select((eb) => eb.fn.countAll<number>().as("count"));
    return queueBuilder.selectNoFrom([
      size.as("total"),
      size.where("e.completed_us", "is", null).as("open"),
    ]);
  }),
  listReviewers: new Query(
    ({ tenantId, queueId, nowMicros }: Parameters<QueueKey & { nowMicros: number }>) =>
      queueBuilder
        .selectFrom("annotation_queue_reviews")
        .select((eb) => [
          "reviewer",
          eb.fn.count<number>("done_us").as("done"),
          sql<number>`count(CASE WHEN done_us IS NULL AND until_us > ${nowMicros} THEN 1 END)`.as(
            "claimed",
          ),
        ])
        .where("tenant_id", "=", tenantId)
        .where("queue_id", "=", queueId)
        .groupBy("reviewer")
        .orderBy("reviewer")
        .limit(maxReviewers),
  ),
  findLastDone: new Query(
    ({ tenantId, queueId, reviewer }: Parameters<QueueKey & { reviewer: string }>) =>
      queueBuilder
        .selectFrom("annotation_queue_reviews as v")
        .innerJoin("annotation_queue_runs as e", "e.place", "v.place")
        .select("e.id")
        .where("v.tenant_id", "=", tenantId)
        .where("v.queue_id", "=", queueId)
        .where("v.reviewer", "=", reviewer)
        .where("v.done_us", "is not", null)
        .orderBy("v.done_us", "desc")
        .limit(1),
  ),
  findNext: new Query((waitingValues: Parameters<WaitingValues>) =>
    selectWaiting(waitingValues)
      .where((eb) => {
        const skippedReview = eb
          .selectFrom("annotation_queue_reviews as v")
          .select("v.place")
          .whereRef("v.place", "=", "e.place")
          .where("v.reviewer", "=", waitingValues.reviewer)
          .where("v.skipped_us", "is not", null);
        return eb.not(eb.exists(skippedReview));
      })
      .orderBy("e.added_us")
      .orderBy("e.place")
      .limit(1),
  ),
  findSkipped: new Query((waitingValues: Parameters<WaitingValues>) =>
    selectWaiting(waitingValues)
      .innerJoin("annotation_queue_reviews as s", (join) =>
        join.onRef("s.place", "=", "e.place").on("s.reviewer", "=", waitingValues.reviewer),
      )
      .where("s.skipped_us", "is not", null)
      .orderBy("s.skipped_us")
      .orderBy("e.place")
      .limit(1),
  ),
  findAfter: new Query((waitingValues: Parameters<WaitingValues & { entryId: string }>) =>
    selectNearest(">", waitingValues),
  ),
  findBefore: new Query((waitingValues: Parameters<WaitingValues & { entryId: string }>) =>
    selectNearest("<", waitingValues),
  ),
  readIndex: new Query((entry: Parameters<QueueKey & { entryId: string }>) =>
    selectFromEntries(entry)
      .select((eb) => eb.fn.countAll<number>().as("count"))
      .where(createPositionCondition("<", entry)),
  ),
  claim: new Query((review: Parameters<ReviewState>) => writeReview(review, "claim")),
  release: new Query((review: Parameters<ReviewState>) => writeReview(review, "release")),
  setDone: new Query((review: Parameters<ReviewKey & { doneMicros: number | null }>) =>
    queueBuilder
      .updateTable("annotation_queue_reviews")
      .set({ done_us: review.doneMicros })
      .where("reviewer", "=", review.reviewer)
      .where("place", "=", selectPlace(review)),
  ),
};

import { RequestError } from "../model/errors.ts";
import type { QueueEntry } from "./annotation-queue.ts";
import { toReviewRules } from "./queue-review.ts";
import type {
  ClaimedRun,
  QueueReviewWrites,
  ReviewKey,
  ReviewRequest,
  ReviewRules,
} from "./queue-review.ts";
import { AnnotationQueueAccess } from "./annotation-queue-access.ts";
import { queueReviewQueries } from "./queue-review-queries.ts";
import { microsNow } from "../storage/clock.ts";
import type { Clock } from "../storage/clock.ts";
import type { Database } from "../storage/query.ts";

/**
 * Writes claims and reviews. Writes run one after the other, so two reviewers who claim at the same time get different
 * runs, unless the queue requires several reviewers for each run.
 */
export class QueueReviewWriter implements QueueReviewWrites {
  readonly #db: Database;
  readonly #access: AnnotationQueueAccess;
  readonly #clock: Clock;

  constructor(db: Database, clock: Clock = microsNow) {
    this.#db = db;
    this.#access = new AnnotationQueueAccess(db, clock);
    this.#clock = clock;
  }

  async claim(tenantId: string, request: ReviewRequest): Promise<ClaimedRun | undefined> {
    const { queueId, reviewer, choice } = request;
    const rules = toReviewRules(await this.#access.read(tenantId, queueId));
    const entryId =
      choice.kind === "this" ? choice.entryId : await this.#findWaiting(tenantId, request, rules);
    if (entryId === undefined) {
      return undefined;
    }
    const key = { queueId, entryId, reviewer };
    const entry = await this.#access.readEntry(tenantId, key);
    if (isDone(entry, reviewer)) {
      return this.#toClaimed(tenantId, entry, null);
    }
    this.#assertNeedsReviewer(entry, reviewer, rules);
    return this.#claim(tenantId, key, rules);
  }

  async release(tenantId: string, key: ReviewKey, isSkipped: boolean): Promise<void> {
    await this.#access.readEntry(tenantId, key);
    await this.#release(tenantId, key, isSkipped ? this.#clock() : null);
  }

  async finish(tenantId: string, key: ReviewKey): Promise<QueueEntry> {
    const rules = toReviewRules(await this.#access.read(tenantId, key.queueId));
    const entry = await this.#access.readEntry(tenantId, key);
    if (isDone(entry, key.reviewer)) {
      return entry;
    }
    this.#assertNeedsReviewer(entry, key.reviewer, rules);
    await this.#release(tenantId, key, null);
    return this.#setDone(tenantId, key, this.#clock());
  }

  async reopen(tenantId: string, key: ReviewKey): Promise<ClaimedRun> {
    const rules = toReviewRules(await this.#access.read(tenantId, key.queueId));
    const entry = await this.#access.readEntry(tenantId, key);
    if (isDone(entry, key.reviewer)) {
      await this.#setDone(tenantId, key, null);
    } else {
      // The reviewer has not finished the entry, so reopening it only claims it.
      this.#assertNeedsReviewer(entry, key.reviewer, rules);
    }
    return this.#claim(tenantId, key, rules);
  }

  async #setDone(tenantId: string, key: ReviewKey, doneMicros: number | null): Promise<QueueEntry> {
    const { queueId, entryId } = key;
    const { reviewersPerRun } = toReviewRules(await this.#access.read(tenantId, queueId));
    await this.#db.run(queueReviewQueries.setDone, { ...key, tenantId, doneMicros });
    await this.#access.updateCompletion(tenantId, queueId, { reviewersPerRun, entryId });
    return this.#access.readEntry(tenantId, key);
  }

  async #claim(
    tenantId: string,
    key: ReviewKey,
    { claimMicros }: ReviewRules,
  ): Promise<ClaimedRun> {
    const untilMicros = claimMicros === undefined ? null : this.#clock() + claimMicros;
    const reviewState = { ...key, tenantId, untilMicros, skippedMicros: null };
    await this.#db.run(queueReviewQueries.claim, reviewState);
    return this.#toClaimed(tenantId, await this.#access.readEntry(tenantId, key), untilMicros);
  }

  async #release(tenantId: string, key: ReviewKey, skippedMicros: number | null): Promise<void> {
    const reviewState = { ...key, tenantId, untilMicros: null, skippedMicros };
    await this.#db.run(queueReviewQueries.release, reviewState);
  }

  /**
   * Checks that an entry needs one more reviewer: fewer other reviewers than the queue requires have finished or
   * claimed it.
   *
   * @throws RequestError 409: enough reviewers have finished or claimed the entry.
   */
  #assertNeedsReviewer(entry: QueueEntry, reviewer: string, rules: ReviewRules): void {
    const otherReviews = entry.reviews.filter(
      (review) =>
        review.reviewer !== reviewer &&
        (review.doneMicros !== null || rules.claimMicros !== undefined),
    );
    if (otherReviews.length >= rules.reviewersPerRun) {
      const names = otherReviews.map((other) => other.reviewer || "a caller of the API").join(", ");
      const isReviewed = otherReviews.every(({ doneMicros }) => doneMicros !== null);
      throw new RequestError(
        409,
        isReviewed ? `The run was reviewed by ${names}` : `The run is under review by ${names}`,
      );
    }
  }

  async #findWaiting(
    tenantId: string,
    { queueId, reviewer, choice }: ReviewRequest,
    { reviewersPerRun, claimMicros }: ReviewRules,
  ): Promise<string | undefined> {
    // If the queue has disabled claims, all stored claims must count as expired.
    const nowMicros = claimMicros === undefined ? Number.MAX_SAFE_INTEGER : this.#clock();
    const waitingValues = { tenantId, queueId, reviewer, reviewersPerRun, nowMicros };
    const { findNext, findSkipped, findAfter, findBefore } = queueReviewQueries;
    const row =
      "entryId" in choice
        ? await this.#db.first(choice.kind === "before" ? findBefore : findAfter, {
            ...waitingValues,
            entryId: choice.entryId,
          })
        : ((await this.#db.first(findNext, waitingValues)) ??
          (await this.#db.first(findSkipped, waitingValues)));
    return row?.id;
  }

  async #toClaimed(
    tenantId: string,
    entry: QueueEntry,
    claimedUntilMicros: number | null,
  ): Promise<ClaimedRun> {
    const key = { tenantId, queueId: entry.queueId, entryId: entry.id };
    const row = await this.#db.first(queueReviewQueries.readIndex, key);
    return { ...entry, index: row?.count ?? 0, claimedUntilMicros };
  }
}

const isDone = ({ reviews }: QueueEntry, reviewer: string): boolean =>
  reviews.some((review) => review.reviewer === reviewer && review.doneMicros !== null);

import { RequestError } from "../model/errors.ts";
import type { QueueEntry } from "./annotation-queue.ts";
import { toReviewRules } from "./queue-review.ts";
import type {
  ClaimedRun,
  QueueReviewWrites,
  ReviewKey,
  ReviewPick,
  ReviewRequest,
  ReviewRules,
} from "./queue-review.ts";
import { AnnotationQueueAccess } from "./annotation-queue-access.ts";
import { microsNow } from "../storage/sqlite/clock.ts";
import type { Clock } from "../storage/sqlite/clock.ts";
import { parseRows } from "../storage/sqlite/rows.ts";
import type { Connection } from "../storage/sqlite/connection.ts";

/**
 * Writes claims and reviews. Writes run one after the other on one thread, so two reviewers who claim at the same
 * time never get the same run unless the queue allows it.
 */
export class QueueReviewWriter implements QueueReviewWrites {
  readonly #access: AnnotationQueueAccess;
  readonly #clock: Clock;
  readonly #statements: ReturnType<typeof prepareStatements>;

  constructor(db: Connection, clock: Clock = microsNow) {
    this.#access = new AnnotationQueueAccess(db, clock);
    this.#clock = clock;
    this.#statements = prepareStatements(db);
  }

  claim(tenantId: string, request: ReviewRequest): ClaimedRun | undefined {
    const { queueId, reviewer, pick } = request;
    const rules = toReviewRules(this.#access.read(tenantId, queueId));
    const entryId =
      pick.kind === "this" ? pick.entryId : this.#findWaiting(tenantId, request, rules);
    if (entryId === undefined) {
      return undefined;
    }
    const key = { queueId, entryId, reviewer };
    const entry = this.#access.readEntry(tenantId, key);
    if (isDone(entry, reviewer)) {
      return this.#toClaimed(tenantId, entry, null);
    }
    this.#assertFreeSlot(entry, reviewer, rules);
    return this.#claim(tenantId, key, rules);
  }

  release(tenantId: string, key: ReviewKey, isSkipped: boolean): void {
    this.#access.readEntry(tenantId, key);
    this.#writeState(tenantId, key, {
      untilMicros: null,
      skippedMicros: isSkipped ? this.#clock() : null,
    });
  }

  finish(tenantId: string, key: ReviewKey): QueueEntry {
    const rules = toReviewRules(this.#access.read(tenantId, key.queueId));
    const entry = this.#access.readEntry(tenantId, key);
    if (isDone(entry, key.reviewer)) {
      return entry;
    }
    this.#assertFreeSlot(entry, key.reviewer, rules);
    this.#writeState(tenantId, key, { untilMicros: null, skippedMicros: null });
    return this.#setDone(tenantId, key, this.#clock());
  }

  reopen(tenantId: string, key: ReviewKey): ClaimedRun {
    const rules = toReviewRules(this.#access.read(tenantId, key.queueId));
    const entry = this.#access.readEntry(tenantId, key);
    if (isDone(entry, key.reviewer)) {
      this.#setDone(tenantId, key, null);
    } else {
      // Not done by this reviewer: claim it as usual.
      this.#assertFreeSlot(entry, key.reviewer, rules);
    }
    return this.#claim(tenantId, key, rules);
  }

  #setDone(tenantId: string, key: ReviewKey, doneMicros: number | null): QueueEntry {
    const { queueId, entryId, reviewer } = key;
    const { reviewersPerRun } = toReviewRules(this.#access.read(tenantId, queueId));
    this.#statements.setDone.run([doneMicros, reviewer, tenantId, queueId, entryId]);
    this.#access.updateCompletion(tenantId, queueId, { reviewersPerRun, entryId });
    return this.#access.readEntry(tenantId, key);
  }

  #claim(tenantId: string, key: ReviewKey, { claimMicros }: ReviewRules): ClaimedRun {
    const untilMicros = claimMicros === undefined ? null : this.#clock() + claimMicros;
    this.#writeState(tenantId, key, { untilMicros, skippedMicros: undefined });
    return this.#toClaimed(tenantId, this.#access.readEntry(tenantId, key), untilMicros);
  }

  #writeState(
    tenantId: string,
    { queueId, entryId, reviewer }: ReviewKey,
    state: ReviewState,
  ): void {
    const { untilMicros, skippedMicros } = state;
    const keep = skippedMicros === undefined ? 1 : 0;
    const values = [reviewer, untilMicros, skippedMicros ?? null, keep];
    this.#statements.write.run([...values, tenantId, queueId, entryId]);
  }

  /**
   * Each entry has as many reviewer slots as the queue requires reviewers; every other reviewer who is done with it
   * or has claimed it takes one.
   *
   * @throws RequestError 409: all slots are taken.
   */
  #assertFreeSlot(entry: QueueEntry, reviewer: string, rules: ReviewRules): void {
    const others = entry.reviews.filter(
      (review) =>
        review.reviewer !== reviewer &&
        (review.doneMicros !== null || rules.claimMicros !== undefined),
    );
    if (others.length >= rules.reviewersPerRun) {
      const names = others.map((other) => other.reviewer || "a caller of the API").join(", ");
      const isDone = others.every(({ doneMicros }) => doneMicros !== null);
      throw new RequestError(
        409,
        isDone ? `The run was reviewed by ${names}` : `The run is under review by ${names}`,
      );
    }
  }

  #findWaiting(
    tenantId: string,
    { queueId, reviewer, pick }: ReviewRequest,
    { reviewersPerRun, claimMicros }: ReviewRules,
  ): string | undefined {
    // With claims disabled, this time makes every stored claim count as expired.
    const nowMicros = claimMicros === undefined ? Number.MAX_SAFE_INTEGER : this.#clock();
    const values = [tenantId, queueId, reviewer, reviewersPerRun, nowMicros];
    const allValues = "entryId" in pick ? [...values, pick.entryId] : values;
    for (const statement of this.#statementsOf(pick)) {
      const [row] = parseRows(statement.all(allValues));
      if (row !== undefined) {
        return String(row[0]);
      }
    }
    return undefined;
  }

  #statementsOf({ kind }: ReviewPick) {
    const { next, skipped, after, before } = this.#statements;
    return { next: [next, skipped], after: [after], before: [before], this: [] }[kind];
  }

  #toClaimed(tenantId: string, entry: QueueEntry, untilMicros: number | null): ClaimedRun {
    const rows = this.#statements.index.all([tenantId, entry.queueId, entry.id]);
    return { ...entry, index: Number(parseRows(rows)[0]?.[0]), untilMicros };
  }
}

interface ReviewState {
  readonly untilMicros: number | null;
  /** `undefined` keeps the value. */
  readonly skippedMicros: number | null | undefined;
}

const isDone = ({ reviews }: QueueEntry, reviewer: string): boolean =>
  reviews.some((review) => review.reviewer === reviewer && review.doneMicros !== null);

/** SQL that selects the sort position of an entry. */
const positionOf = (entryId: string): string =>
  `SELECT added_us, place FROM annotation_queue_runs WHERE tenant_id = ?1 AND queue_id = ?2 AND id = ${entryId}`;

function prepareStatements(db: Connection) {
  const selectPlace =
    "SELECT place FROM annotation_queue_runs WHERE tenant_id = ? AND queue_id = ? AND id = ?";
  const ofReviewer = "v.place = e.place AND v.reviewer = ?3";
  const waiting = `e.tenant_id = ?1 AND e.queue_id = ?2 AND e.completed_us IS NULL
    AND (SELECT count(*) FROM annotation_queue_reviews v WHERE v.place = e.place AND v.reviewer <> ?3
      AND (v.done_us IS NOT NULL OR v.until_us > ?5)) < ?4
    AND NOT EXISTS (SELECT 1 FROM annotation_queue_reviews v WHERE ${ofReviewer} AND v.done_us IS NOT NULL)`;
  // Compare row values with a subquery: SQLite then seeks in the index of the order instead of scanning it.
  const referencePosition = positionOf("?6");
  const nearest = (sign: "<" | ">", order: "ASC" | "DESC") => `
    SELECT e.id FROM annotation_queue_runs e WHERE ${waiting} AND (e.added_us, e.place) ${sign} (${referencePosition})
    ORDER BY e.added_us ${order}, e.place ${order} LIMIT 1`;
  return {
    next: db
      .prepare(
        `SELECT e.id FROM annotation_queue_runs e WHERE ${waiting}
           AND NOT EXISTS (SELECT 1 FROM annotation_queue_reviews v WHERE ${ofReviewer} AND v.skipped_us IS NOT NULL)
         ORDER BY e.added_us, e.place LIMIT 1`,
      )
      .raw(),
    skipped: db
      .prepare(
        `SELECT e.id FROM annotation_queue_runs e JOIN annotation_queue_reviews v ON ${ofReviewer}
         WHERE v.skipped_us IS NOT NULL AND ${waiting} ORDER BY v.skipped_us, e.place LIMIT 1`,
      )
      .raw(),
    after: db.prepare(nearest(">", "ASC")).raw(),
    before: db.prepare(nearest("<", "DESC")).raw(),
    index: db
      .prepare(
        `SELECT count(*) FROM annotation_queue_runs e WHERE e.tenant_id = ?1 AND e.queue_id = ?2
           AND (e.added_us, e.place) < (${positionOf("?3")})`,
      )
      .raw(),
    write: db.prepare(
      `INSERT INTO annotation_queue_reviews (place, reviewer, until_us, skipped_us, tenant_id, queue_id)
       SELECT place, ?1, ?2, ?3, tenant_id, queue_id FROM annotation_queue_runs
       WHERE tenant_id = ?5 AND queue_id = ?6 AND id = ?7
       ON CONFLICT DO UPDATE SET until_us = excluded.until_us,
         skipped_us = CASE WHEN ?4 THEN skipped_us ELSE excluded.skipped_us END`,
    ),
    setDone: db.prepare(
      `UPDATE annotation_queue_reviews SET done_us = ? WHERE reviewer = ? AND place = (${selectPlace})`,
    ),
  };
}

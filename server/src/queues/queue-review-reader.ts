import type { EntryQuery } from "./annotation-queue.ts";
import { selectWithStatus, addEntryColumns } from "./annotation-queue-queries.ts";
import { parseEntryRow } from "./annotation-queue-row.ts";
import type { QueueProgress, QueueReviewReads, ListedEntry } from "./queue-review.ts";
import { queueReviewQueries } from "./queue-review-queries.ts";
import { microsNow } from "../storage/clock.ts";
import type { Clock } from "../storage/clock.ts";
import type { Database } from "../storage/query.ts";

/** Queries the reviews and the progress of queues. */
export class QueueReviewReader implements QueueReviewReads {
  readonly #db: Database;
  readonly #clock: Clock;

  constructor(db: Database, clock: Clock = microsNow) {
    this.#db = db;
    this.#clock = clock;
  }

  async listRuns(tenantId: string, query: EntryQuery): Promise<readonly ListedEntry[]> {
    const nowMicros = this.#clock();
    const rows = await this.#db.all(
      addEntryColumns(selectWithStatus(tenantId, query))
        .innerJoin("runs as r", "r.id", "e.run_id")
        .select(["r.project_id", "r.name", "r.run_type", "r.has_error", "r.start_us", "r.end_us"])
        .orderBy("e.added_us")
        .orderBy("e.place")
        .limit(query.limit)
        .offset(query.offset),
    );
    return rows.map((row) => ({
      ...parseEntryRow(row, nowMicros),
      projectId: row.project_id,
      name: row.name,
      runType: row.run_type,
      hasError: row.has_error === 1,
      startMicros: row.start_us,
      endMicros: row.end_us,
    }));
  }

  async readProgress(tenantId: string, queueId: string, reviewer: string): Promise<QueueProgress> {
    const queue = { tenantId, queueId };
    const sizes = await this.#db.first(queueReviewQueries.readSizes, queue);
    const lastFinishedEntry = await this.#db.first(queueReviewQueries.findLastDone, {
      ...queue,
      reviewer,
    });
    const nowMicros = this.#clock();
    const reviewers = await this.#db.all(queueReviewQueries.listReviewers, { ...queue, nowMicros });
    const total = sizes?.total ?? 0;
    return {
      total,
      completed: total - (sizes?.open ?? 0),
      reviewers: reviewers.map(({ reviewer: name, done, claimed }) => ({ name, done, claimed })),
      lastDoneId: lastFinishedEntry?.id ?? null,
    };
  }
}

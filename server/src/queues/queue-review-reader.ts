import type { EntryQuery } from "./annotation-queue.ts";
import type { QueueProgress, QueueReviewReads, ReviewedRun } from "./queue-review.ts";
import { entryCondition } from "./annotation-queue-reader.ts";
import { entryColumns, parseEntryRow } from "./annotation-queue-row.ts";
import { microsNow } from "../storage/sqlite/clock.ts";
import type { Clock } from "../storage/sqlite/clock.ts";
import { parseRows } from "../storage/sqlite/rows.ts";
import type { Connection } from "../storage/sqlite/connection.ts";

/** Number of columns of the run, which follow those of its entry. */
const runColumnCount = 5;

/** Maximum number of reviewers in a response. */
const maxReviewers = 100;

/** Queries the reviews and the progress of queues. */
export class QueueReviewReader implements QueueReviewReads {
  readonly #clock: Clock;
  readonly #statements;

  constructor(db: Connection, clock: Clock = microsNow) {
    this.#clock = clock;
    const inQueue = "tenant_id = ?1 AND queue_id = ?2";
    const size = `SELECT count(*) FROM annotation_queue_runs WHERE ${inQueue}`;
    this.#statements = {
      sizes: db.prepare(`SELECT (${size}), (${size} AND completed_us IS NULL)`).raw(),
      reviewers: db
        .prepare(
          `SELECT reviewer, count(done_us), count(CASE WHEN done_us IS NULL AND until_us > ?3 THEN 1 END)
           FROM annotation_queue_reviews WHERE ${inQueue} GROUP BY reviewer ORDER BY reviewer LIMIT ${maxReviewers}`,
        )
        .raw(),
      runs: db
        .prepare(
          `SELECT ${entryColumns}, r.name, r.run_type, r.has_error, r.start_us, r.end_us
           FROM annotation_queue_runs e JOIN runs r ON r.id = e.run_id
           WHERE ${entryCondition} ORDER BY e.added_us, e.place LIMIT ?4 OFFSET ?5`,
        )
        .raw(),
      lastDone: db
        .prepare(
          `SELECT e.id FROM annotation_queue_reviews v JOIN annotation_queue_runs e ON e.place = v.place
           WHERE v.tenant_id = ?1 AND v.queue_id = ?2 AND v.reviewer = ?3 AND v.done_us IS NOT NULL
           ORDER BY v.done_us DESC LIMIT 1`,
        )
        .raw(),
    };
  }

  listRuns(
    tenantId: string,
    { queueId, status, limit, offset }: EntryQuery,
  ): readonly ReviewedRun[] {
    const nowMicros = this.#clock();
    const values = [tenantId, queueId, status ?? null, limit, offset];
    return parseRows(this.#statements.runs.all(values)).map((row) => {
      const [name, runType, hasError, start, end] = row.slice(-runColumnCount);
      return {
        ...parseEntryRow(row, nowMicros),
        name: String(name),
        runType: String(runType),
        hasError: hasError === 1,
        startMicros: Number(start),
        endMicros: typeof end === "number" ? end : null,
      };
    });
  }

  progress(tenantId: string, queueId: string, reviewer: string): QueueProgress {
    const queueKey = [tenantId, queueId];
    const [sizes = []] = parseRows(this.#statements.sizes.all(queueKey));
    const [last] = parseRows(this.#statements.lastDone.all([...queueKey, reviewer]));
    return {
      total: Number(sizes[0]),
      completed: Number(sizes[0]) - Number(sizes[1]),
      reviewers: parseRows(this.#statements.reviewers.all([...queueKey, this.#clock()])).map(
        ([name, done, claimed]) => ({
          name: String(name),
          done: Number(done),
          claimed: Number(claimed),
        }),
      ),
      lastDone: last === undefined ? null : String(last[0]),
    };
  }
}

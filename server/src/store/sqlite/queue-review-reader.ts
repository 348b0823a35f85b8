import type { QueueProgress, QueueReviewReads } from "../queue-review.ts";
import { microsNow } from "./clock.ts";
import type { Clock } from "./clock.ts";
import { parseRows } from "./row.ts";
import type { Connection } from "./schema.ts";

/** Reviewers that an answer names. */
const namedReviewers = 100;

/** Answers how far queues are. */
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
           FROM annotation_queue_reviews WHERE ${inQueue} GROUP BY reviewer ORDER BY reviewer LIMIT ${namedReviewers}`,
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

  progress(tenantId: string, queueId: string, reviewer: string): QueueProgress {
    const place = [tenantId, queueId];
    const [sizes = []] = parseRows(this.#statements.sizes.all(place));
    const [last] = parseRows(this.#statements.lastDone.all([...place, reviewer]));
    return {
      total: Number(sizes[0]),
      completed: Number(sizes[0]) - Number(sizes[1]),
      reviewers: parseRows(this.#statements.reviewers.all([...place, this.#clock()])).map(
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

import { RequestError } from "../model/errors.ts";
import { missingQueue } from "./annotation-queue.ts";
import type { AnnotationQueue, EntryKey, QueueEntry } from "./annotation-queue.ts";
import {
  entrySelection,
  parseEntryRow,
  parseQueueRow,
  queueSelection,
} from "./annotation-queue-row.ts";
import type { Clock } from "../storage/sqlite/clock.ts";
import { parseRows } from "../storage/sqlite/rows.ts";
import type { Connection } from "../storage/sqlite/connection.ts";

/** Finds queues and their entries for the writers, and updates which entries are completed. */
export class AnnotationQueueAccess {
  readonly #clock: Clock;
  readonly #statements;

  constructor(db: Connection, clock: Clock) {
    this.#clock = clock;
    const doneReviews = `FROM annotation_queue_reviews v WHERE v.place = annotation_queue_runs.place AND v.done_us IS NOT NULL`;
    const updateCompletion = `UPDATE annotation_queue_runs SET reviewed_us = (SELECT max(v.done_us) ${doneReviews}),
      completed_us = CASE WHEN (SELECT count(*) ${doneReviews}) >= ?1
        THEN coalesce(completed_us, (SELECT max(v.done_us) ${doneReviews})) END
      WHERE tenant_id = ?2 AND queue_id = ?3`;
    const inQueue = "e.tenant_id = ? AND e.queue_id = ?";
    this.#statements = {
      find: db.prepare(`${queueSelection} WHERE q.tenant_id = ? AND q.id = ?`).raw(),
      findEntry: db.prepare(`${entrySelection} WHERE ${inQueue} AND e.id = ?`).raw(),
      findEntryOfRun: db.prepare(`${entrySelection} WHERE ${inQueue} AND e.run_id = ?`).raw(),
      updateCompletion: db.prepare(updateCompletion),
      updateCompletionOfEntry: db.prepare(`${updateCompletion} AND id = ?4`),
    };
  }

  /** @throws RequestError 404: the queue does not exist. */
  read(tenantId: string, id: string): AnnotationQueue {
    const [values] = parseRows(this.#statements.find.all([tenantId, id]));
    if (values === undefined) {
      throw missingQueue(id);
    }
    return parseQueueRow(values);
  }

  /** @throws RequestError 404: there is no such queue, or no such entry in it. */
  readEntry(tenantId: string, { queueId, entryId }: EntryKey): QueueEntry {
    const [values] = parseRows(this.#statements.findEntry.all([tenantId, queueId, entryId]));
    if (values === undefined) {
      this.read(tenantId, queueId);
      throw new RequestError(404, `Run ${entryId} is not in annotation queue ${queueId}`);
    }
    return parseEntryRow(values, this.#clock());
  }

  /** Reads the entry of a run that is known to be in the queue. */
  readEntryOfRun(tenantId: string, queueId: string, runId: string): QueueEntry {
    const rows = parseRows(this.#statements.findEntryOfRun.all([tenantId, queueId, runId]));
    return parseEntryRow(rows[0] ?? [], this.#clock());
  }

  /**
   * Updates which entries of a queue are completed, or whether one entry is: whether enough reviewers are done with
   * it.
   */
  updateCompletion(tenantId: string, queueId: string, target: CompletionTarget): void {
    const values = [target.reviewersPerRun, tenantId, queueId];
    if (target.entryId === undefined) {
      this.#statements.updateCompletion.run(values);
    } else {
      this.#statements.updateCompletionOfEntry.run([...values, target.entryId]);
    }
  }
}

interface CompletionTarget {
  readonly reviewersPerRun: number;
  /** Defaults to all entries of the queue. */
  readonly entryId?: string;
}

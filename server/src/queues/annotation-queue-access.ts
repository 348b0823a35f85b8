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

/** Finds queues and their runs for the writers, and updates which runs are completed. */
export class AnnotationQueueAccess {
  readonly #clock: Clock;
  readonly #statements;

  constructor(db: Connection, clock: Clock) {
    this.#clock = clock;
    const done = `FROM annotation_queue_reviews v WHERE v.place = annotation_queue_runs.place AND v.done_us IS NOT NULL`;
    const complete = `UPDATE annotation_queue_runs SET reviewed_us = (SELECT max(v.done_us) ${done}),
      completed_us = CASE WHEN (SELECT count(*) ${done}) >= ?1
        THEN coalesce(completed_us, (SELECT max(v.done_us) ${done})) END
      WHERE tenant_id = ?2 AND queue_id = ?3`;
    const inQueue = "e.tenant_id = ? AND e.queue_id = ?";
    this.#statements = {
      find: db.prepare(`${queueSelection} WHERE q.tenant_id = ? AND q.id = ?`).raw(),
      findEntry: db.prepare(`${entrySelection} WHERE ${inQueue} AND e.id = ?`).raw(),
      findEntryOfRun: db.prepare(`${entrySelection} WHERE ${inQueue} AND e.run_id = ?`).raw(),
      complete: db.prepare(complete),
      completeOne: db.prepare(`${complete} AND id = ?4`),
    };
  }

  /** @throws RequestError 404: it does not exist. */
  read(tenantId: string, id: string): AnnotationQueue {
    const [values] = parseRows(this.#statements.find.all([tenantId, id]));
    if (values === undefined) {
      throw missingQueue(id);
    }
    return parseQueueRow(values);
  }

  /** @throws RequestError 404: no such queue, or no such run in it. */
  readEntry(tenantId: string, { queueId, entryId }: EntryKey): QueueEntry {
    const [values] = parseRows(this.#statements.findEntry.all([tenantId, queueId, entryId]));
    if (values === undefined) {
      this.read(tenantId, queueId);
      throw new RequestError(404, `Run ${entryId} is not in annotation queue ${queueId}`);
    }
    return parseEntryRow(values, this.#clock());
  }

  /** One that is known to be there. */
  readEntryOfRun(tenantId: string, queueId: string, runId: string): QueueEntry {
    const rows = parseRows(this.#statements.findEntryOfRun.all([tenantId, queueId, runId]));
    return parseEntryRow(rows[0] ?? [], this.#clock());
  }

  /** Compares the marks of a queue, or of one run in it, with how many reviewers it asks for. */
  complete(tenantId: string, queueId: string, of: Completion): void {
    const values = [of.reviewersPerRun, tenantId, queueId];
    if (of.entryId === undefined) {
      this.#statements.complete.run(values);
    } else {
      this.#statements.completeOne.run([...values, of.entryId]);
    }
  }
}

interface Completion {
  readonly reviewersPerRun: number;
  /** `undefined`: all that are in the queue. */
  readonly entryId?: string;
}

import { RequestError } from "../model/errors.ts";
import { createMissingQueueError } from "./annotation-queue.ts";
import type { AnnotationQueue, EntryKey, QueueEntry } from "./annotation-queue.ts";
import { annotationQueueQueries } from "./annotation-queue-queries.ts";
import { parseEntryRow, parseQueueRow } from "./annotation-queue-row.ts";
import type { Clock } from "../storage/clock.ts";
import type { Database } from "../storage/query.ts";

/** Finds annotation queues and their entries for the writers, and updates which entries are completed. */
export class AnnotationQueueAccess {
  readonly #db: Database;
  readonly #clock: Clock;

  constructor(db: Database, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
  }

  /**
   * Reads a queue.
   *
   * @throws RequestError 404: the queue does not exist.
   */
  async read(tenantId: string, id: string): Promise<AnnotationQueue> {
    const row = await this.#db.first(annotationQueueQueries.find, { tenantId, id });
    if (row === undefined) {
      throw createMissingQueueError(id);
    }
    return parseQueueRow(row);
  }

  /**
   * Reads the entry of a run in a queue.
   *
   * @throws RequestError 404: there is no such queue, or no such entry in it.
   */
  async readEntry(tenantId: string, { queueId, entryId }: EntryKey): Promise<QueueEntry> {
    const key = { tenantId, queueId, entryId };
    const row = await this.#db.first(annotationQueueQueries.findEntry, key);
    if (row === undefined) {
      await this.read(tenantId, queueId);
      throw new RequestError(404, `Run ${entryId} is not in annotation queue ${queueId}`);
    }
    return parseEntryRow(row, this.#clock());
  }

  /** Updates whether the entries of a queue, or one of them, count as completed. */
  async updateCompletion(
    tenantId: string,
    queueId: string,
    { reviewersPerRun, entryId }: CompletionTarget,
  ): Promise<void> {
    const { updateCompletion, updateCompletionOfEntry } = annotationQueueQueries;
    const values = { tenantId, queueId, reviewersPerRun };
    await (entryId === undefined
      ? this.#db.run(updateCompletion, values)
      : this.#db.run(updateCompletionOfEntry, { ...values, entryId }));
  }
}

/** Which entries to update, and when they are complete. */
interface CompletionTarget {
  /** Number of reviewers who must finish an entry. */
  readonly reviewersPerRun: number;
  /** Id of the entry to update; all entries of the queue if absent. */
  readonly entryId?: string;
}

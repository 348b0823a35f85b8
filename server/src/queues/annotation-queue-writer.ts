import { createHash, randomUUID } from "node:crypto";
import { RequestError } from "../model/errors.ts";
import type {
  AnnotationQueue,
  AnnotationQueueWrites,
  EntryChanges,
  EntryKey,
  QueueChanges,
  QueueDraft,
  QueueEntry,
  RunKey,
} from "./annotation-queue.ts";
import { namelessReviewer, toReviewRules } from "./queue-review.ts";
import { AnnotationQueueAccess } from "./annotation-queue-access.ts";
import { annotationQueueQueries } from "./annotation-queue-queries.ts";
import { parseEntryRow, toBody } from "./annotation-queue-row.ts";
import { microsNow } from "../storage/clock.ts";
import type { Clock } from "../storage/clock.ts";
import type { Database } from "../storage/query.ts";
import { toIds } from "../storage/row-keys.ts";

/** Maximum number of unknown runs that an error message lists. */
const maxListedRuns = 20;

/** Writes annotation queues and their entries. */
export class AnnotationQueueWriter implements AnnotationQueueWrites {
  readonly #db: Database;
  readonly #access: AnnotationQueueAccess;
  readonly #clock: Clock;

  constructor(db: Database, clock: Clock = microsNow) {
    this.#db = db;
    this.#access = new AnnotationQueueAccess(db, clock);
    this.#clock = clock;
  }

  async create(tenantId: string, draft: QueueDraft): Promise<AnnotationQueue> {
    const { id } = draft;
    const digest = createHash("sha256")
      .update(JSON.stringify(toIds(tenantId, draft)))
      .digest("base64url");
    const existing = await this.#db.first(annotationQueueQueries.readDigest, { tenantId, id });
    if (existing !== undefined) {
      if (existing.digest !== digest) {
        throw new RequestError(
          409,
          `Annotation queue ${id} already exists with different content.`,
        );
      }
      return this.#access.read(tenantId, id);
    }
    await this.#assertDatasetExists(tenantId, draft.defaultDatasetId);
    const createdMicros = draft.createdMicros ?? this.#clock();
    await this.#db.run(annotationQueueQueries.insert, {
      tenant_id: tenantId,
      id,
      name_json: JSON.stringify(draft.name),
      default_dataset_id: draft.defaultDatasetId,
      body: toBody(draft),
      created_us: createdMicros,
      updated_us: createdMicros,
      digest,
    });
    return this.#access.read(tenantId, id);
  }

  async update(tenantId: string, id: string, changes: QueueChanges): Promise<AnnotationQueue> {
    const currentQueue = await this.#access.read(tenantId, id);
    const definedChanges = Object.entries(changes).filter(([, value]) => value !== undefined);
    const reviewers = { ...currentQueue.reviewers, ...changes.reviewers };
    const queue: AnnotationQueue = {
      ...currentQueue,
      ...Object.fromEntries(definedChanges),
      reviewers,
    };
    await this.#assertDatasetExists(tenantId, changes.defaultDatasetId ?? null);
    // The time must increase, even if the clock was set back.
    const updatedMicros = Math.max(this.#clock(), currentQueue.updatedMicros + 1);
    await this.#db.run(annotationQueueQueries.update, {
      tenant_id: tenantId,
      id,
      name_json: JSON.stringify(queue.name),
      default_dataset_id: queue.defaultDatasetId,
      body: toBody(queue),
      updated_us: updatedMicros,
    });
    const { reviewersPerRun } = toReviewRules(queue);
    if (reviewersPerRun !== toReviewRules(currentQueue).reviewersPerRun) {
      await this.#access.updateCompletion(tenantId, id, { reviewersPerRun });
    }
    return { ...queue, updatedMicros };
  }

  async delete(tenantId: string, ids: readonly string[]): Promise<readonly string[]> {
    const deletedIds: string[] = [];
    for (const id of ids) {
      await this.#db.run(annotationQueueQueries.deleteEntries, { tenantId, queueId: id });
      if ((await this.#db.run(annotationQueueQueries.delete, { tenantId, id })) > 0) {
        deletedIds.push(id);
      }
    }
    return deletedIds;
  }

  async addRuns(
    tenantId: string,
    queueId: string,
    keys: readonly RunKey[],
  ): Promise<readonly QueueEntry[]> {
    await this.#access.read(tenantId, queueId);
    await this.#assertRunsExist(tenantId, keys);
    const lastEntry = await this.#db.first(annotationQueueQueries.readLastAddedTime, {
      tenantId,
      queueId,
    });
    const nowMicros = this.#clock();
    // The new entries must be at the end of the queue, even if the clock was set back.
    const addedMicros = Math.max(nowMicros, lastEntry?.added_us ?? 0);
    const entries: QueueEntry[] = [];
    for (const runId of new Set(keys.map((key) => key.runId))) {
      await this.#db.run(annotationQueueQueries.insertEntry, {
        tenant_id: tenantId,
        queue_id: queueId,
        id: randomUUID(),
        run_id: runId,
        added_us: addedMicros,
      });
      const key = { tenantId, queueId, runId };
      const rows = await this.#db.all(annotationQueueQueries.findEntryOfRun, key);
      entries.push(...rows.map((row) => parseEntryRow(row, nowMicros)));
    }
    return entries;
  }

  async updateRun(tenantId: string, key: EntryKey, changes: EntryChanges): Promise<QueueEntry> {
    const currentEntry = await this.#access.readEntry(tenantId, key);
    const { queueId, entryId } = key;
    const values = { tenantId, queueId, entryId };
    await this.#db.run(annotationQueueQueries.updateEntry, {
      ...values,
      addedMicros: changes.addedMicros ?? currentEntry.addedMicros,
    });
    if (changes.reviewedMicros !== undefined) {
      const { reviewedMicros } = changes;
      if (reviewedMicros === null) {
        await this.#db.run(annotationQueueQueries.clearDone, values);
      } else {
        const doneReview = { ...values, reviewer: namelessReviewer, doneMicros: reviewedMicros };
        await this.#db.run(annotationQueueQueries.writeDone, doneReview);
      }
      const { reviewersPerRun } = toReviewRules(await this.#access.read(tenantId, queueId));
      await this.#access.updateCompletion(tenantId, queueId, { reviewersPerRun, entryId });
    }
    return this.#access.readEntry(tenantId, key);
  }

  async removeRun(tenantId: string, key: EntryKey): Promise<void> {
    await this.#access.readEntry(tenantId, key);
    const { queueId, entryId } = key;
    await this.#db.run(annotationQueueQueries.deleteEntry, { tenantId, queueId, entryId });
  }

  async #assertRunsExist(tenantId: string, keys: readonly RunKey[]): Promise<void> {
    const unknownIds: string[] = [];
    for (const { runId, projectId } of keys) {
      const runProject = await this.#db.first(annotationQueueQueries.findProjectOfRun, {
        runId,
        tenantId,
      });
      if (runProject === undefined || (projectId !== null && runProject.project_id !== projectId)) {
        unknownIds.push(runId);
      }
    }
    if (unknownIds.length > 0) {
      const ids = unknownIds.slice(0, maxListedRuns);
      const more =
        unknownIds.length > maxListedRuns ? ` and ${unknownIds.length - maxListedRuns} more` : "";
      throw new RequestError(404, `Runs not found: ${ids.join(", ")}${more}`);
    }
  }

  async #assertDatasetExists(tenantId: string, id: string | null): Promise<void> {
    if (
      id !== null &&
      (await this.#db.first(annotationQueueQueries.findDataset, { tenantId, id })) === undefined
    ) {
      throw new RequestError(404, "Dataset not found");
    }
  }
}

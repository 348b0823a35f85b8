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
import { toBody } from "./annotation-queue-row.ts";
import { microsNow } from "../storage/sqlite/clock.ts";
import type { Clock } from "../storage/sqlite/clock.ts";
import { parseRows } from "../storage/sqlite/rows.ts";
import type { Connection } from "../storage/sqlite/connection.ts";
import { toIds } from "../storage/row-keys.ts";

/** Number of unknown runs that an error message lists. */
const maxListedRuns = 20;

/** Writes annotation queues and their entries. */
export class AnnotationQueueWriter implements AnnotationQueueWrites {
  readonly #access: AnnotationQueueAccess;
  readonly #clock: Clock;
  readonly #statements: ReturnType<typeof prepareStatements>;

  constructor(db: Connection, clock: Clock = microsNow) {
    this.#access = new AnnotationQueueAccess(db, clock);
    this.#clock = clock;
    this.#statements = prepareStatements(db);
  }

  create(tenantId: string, draft: QueueDraft): AnnotationQueue {
    const digest = createHash("sha256")
      .update(JSON.stringify(toIds(tenantId, draft)))
      .digest("base64url");
    const [existing] = parseRows(this.#statements.readDigest.all([tenantId, draft.id]));
    if (existing !== undefined) {
      if (existing[0] !== digest) {
        throw new RequestError(
          409,
          `Annotation queue ${draft.id} already exists with different content.`,
        );
      }
      return this.#access.read(tenantId, draft.id);
    }
    this.#checkDataset(tenantId, draft.defaultDatasetId);
    const createdMicros = draft.createdMicros ?? this.#clock();
    this.#statements.insert.run([
      tenantId,
      draft.id,
      JSON.stringify(draft.name),
      draft.defaultDatasetId,
      toBody(draft),
      createdMicros,
      createdMicros,
      digest,
    ]);
    return this.#access.read(tenantId, draft.id);
  }

  update(tenantId: string, id: string, changes: QueueChanges): AnnotationQueue {
    const current = this.#access.read(tenantId, id);
    const definedChanges = Object.entries(changes).filter(([, value]) => value !== undefined);
    const reviewers = { ...current.reviewers, ...changes.reviewers };
    const queue: AnnotationQueue = { ...current, ...Object.fromEntries(definedChanges), reviewers };
    this.#checkDataset(tenantId, changes.defaultDatasetId ?? null);
    // Never go back, even if the clock was set back.
    const updatedMicros = Math.max(this.#clock(), current.updatedMicros + 1);
    const { name, defaultDatasetId } = queue;
    const values = [JSON.stringify(name), defaultDatasetId, toBody(queue), updatedMicros];
    this.#statements.update.run([...values, tenantId, id]);
    const { reviewersPerRun } = toReviewRules(queue);
    if (reviewersPerRun !== toReviewRules(current).reviewersPerRun) {
      this.#access.updateCompletion(tenantId, id, { reviewersPerRun });
    }
    return { ...queue, updatedMicros };
  }

  delete(tenantId: string, ids: readonly string[]): readonly string[] {
    return ids.filter((id) => {
      this.#statements.deleteEntries.run([tenantId, id]);
      return this.#statements.delete.run([tenantId, id]).changes > 0;
    });
  }

  addRuns(tenantId: string, id: string, keys: readonly RunKey[]): readonly QueueEntry[] {
    this.#access.read(tenantId, id);
    this.#checkRuns(tenantId, keys);
    const runIds = [...new Set(keys.map(({ runId }) => runId))];
    const [last] = parseRows(this.#statements.readLast.all([tenantId, id]));
    // Stay at the end of the queue, even if the clock was set back.
    const addedMicros = Math.max(this.#clock(), Number(last?.[0] ?? 0));
    return runIds.map((runId) => {
      this.#statements.insertEntry.run([tenantId, id, randomUUID(), runId, addedMicros]);
      return this.#access.readEntryOfRun(tenantId, id, runId);
    });
  }

  updateRun(tenantId: string, key: EntryKey, changes: EntryChanges): QueueEntry {
    const current = this.#access.readEntry(tenantId, key);
    const { queueId, entryId } = key;
    const entryValues = [tenantId, queueId, entryId];
    this.#statements.updateEntry.run([changes.addedMicros ?? current.addedMicros, ...entryValues]);
    if (changes.reviewedMicros !== undefined) {
      const { reviewedMicros } = changes;
      if (reviewedMicros === null) {
        this.#statements.clearDone.run(entryValues);
      } else {
        this.#statements.setDone.run([namelessReviewer, reviewedMicros, ...entryValues]);
      }
      const { reviewersPerRun } = toReviewRules(this.#access.read(tenantId, queueId));
      this.#access.updateCompletion(tenantId, queueId, { reviewersPerRun, entryId });
    }
    return this.#access.readEntry(tenantId, key);
  }

  removeRun(tenantId: string, key: EntryKey): void {
    this.#access.readEntry(tenantId, key);
    this.#statements.deleteEntry.run([tenantId, key.queueId, key.entryId]);
  }

  #checkRuns(tenantId: string, keys: readonly RunKey[]): void {
    const unknown = keys.filter(({ runId, projectId }) => {
      const [values] = parseRows(this.#statements.projectOfRun.all([runId, tenantId]));
      return values === undefined || (projectId !== null && values[0] !== projectId);
    });
    if (unknown.length > 0) {
      const ids = unknown.slice(0, maxListedRuns).map(({ runId }) => runId);
      const more =
        unknown.length > maxListedRuns ? ` and ${unknown.length - maxListedRuns} more` : "";
      throw new RequestError(404, `Runs not found: ${ids.join(", ")}${more}`);
    }
  }

  #checkDataset(tenantId: string, id: string | null): void {
    if (id !== null && this.#statements.findDataset.all([tenantId, id]).length === 0) {
      throw new RequestError(404, "Dataset not found");
    }
  }
}

function prepareStatements(db: Connection) {
  const byId = "tenant_id = ? AND id = ?";
  const inQueue = "tenant_id = ? AND queue_id = ?";
  return {
    readDigest: db.prepare(`SELECT digest FROM annotation_queues WHERE ${byId}`).raw(),
    insert: db.prepare(
      `INSERT INTO annotation_queues (tenant_id, id, name_json, default_dataset_id, body, created_us, updated_us, digest)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    update: db.prepare(
      `UPDATE annotation_queues SET name_json = ?, default_dataset_id = ?, body = ?, updated_us = ? WHERE ${byId}`,
    ),
    delete: db.prepare(`DELETE FROM annotation_queues WHERE ${byId}`),
    deleteEntries: db.prepare(`DELETE FROM annotation_queue_runs WHERE ${inQueue}`),
    readLast: db.prepare(`SELECT max(added_us) FROM annotation_queue_runs WHERE ${inQueue}`).raw(),
    insertEntry: db.prepare(
      `INSERT OR IGNORE INTO annotation_queue_runs (tenant_id, queue_id, id, run_id, added_us)
       VALUES (?, ?, ?, ?, ?)`,
    ),
    updateEntry: db.prepare(
      `UPDATE annotation_queue_runs SET added_us = ? WHERE ${inQueue} AND id = ?`,
    ),
    setDone: db.prepare(
      `INSERT INTO annotation_queue_reviews (place, reviewer, tenant_id, queue_id, done_us)
       SELECT place, ?, tenant_id, queue_id, ? FROM annotation_queue_runs WHERE ${inQueue} AND id = ?
       ON CONFLICT DO UPDATE SET done_us = excluded.done_us, until_us = NULL`,
    ),
    clearDone: db.prepare(
      `UPDATE annotation_queue_reviews SET done_us = NULL
       WHERE place = (SELECT place FROM annotation_queue_runs WHERE ${inQueue} AND id = ?)`,
    ),
    deleteEntry: db.prepare(`DELETE FROM annotation_queue_runs WHERE ${inQueue} AND id = ?`),
    projectOfRun: db
      .prepare(
        "SELECT r.project_id FROM runs r JOIN projects p ON p.id = r.project_id WHERE r.id = ? AND p.tenant_id = ?",
      )
      .raw(),
    findDataset: db.prepare("SELECT 1 FROM datasets WHERE tenant_id = ? AND id = ?").raw(),
  };
}

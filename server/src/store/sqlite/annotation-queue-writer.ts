import { createHash, randomUUID } from "node:crypto";
import { RequestError } from "../../errors.ts";
import { missingQueue } from "../annotation-queue.ts";
import type {
  AnnotationQueue,
  AnnotationQueueWrites,
  EntryChanges,
  EntryKey,
  QueueChanges,
  QueueDraft,
  QueueEntry,
  RunKey,
} from "../annotation-queue.ts";
import {
  entrySelection,
  parseEntryRow,
  parseQueueRow,
  queueSelection,
  toBody,
} from "./annotation-queue-row.ts";
import { parseRows } from "./row.ts";
import type { Connection } from "./schema.ts";

/** Unknown runs that a refusal names. */
const namedRuns = 20;

/** Writes annotation queues, and who is in them. */
export class AnnotationQueueWriter implements AnnotationQueueWrites {
  readonly #statements: ReturnType<typeof prepareStatements>;

  constructor(db: Connection) {
    this.#statements = prepareStatements(db);
  }

  create(tenantId: string, draft: QueueDraft): AnnotationQueue {
    const digest = createHash("sha256").update(JSON.stringify(draft)).digest("base64url");
    const [known] = parseRows(this.#statements.readDigest.all([tenantId, draft.id]));
    if (known !== undefined) {
      if (known[0] !== digest) {
        throw new RequestError(
          409,
          `Annotation queue ${draft.id} already exists, with other content.`,
        );
      }
      return this.#read(tenantId, draft.id);
    }
    this.#checkDataset(tenantId, draft.defaultDatasetId);
    const createdMicros = draft.createdMicros ?? Date.now() * 1_000;
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
    return this.#read(tenantId, draft.id);
  }

  update(tenantId: string, id: string, changes: QueueChanges): AnnotationQueue {
    const known = this.#read(tenantId, id);
    const given = Object.entries(changes).filter(([, value]) => value !== undefined);
    const reviewers = { ...known.reviewers, ...changes.reviewers };
    const queue: AnnotationQueue = { ...known, ...Object.fromEntries(given), reviewers };
    this.#checkDataset(tenantId, changes.defaultDatasetId ?? null);
    // The clock may have stepped back since.
    const updatedMicros = Math.max(Date.now() * 1_000, known.updatedMicros + 1);
    const { name, defaultDatasetId } = queue;
    const values = [JSON.stringify(name), defaultDatasetId, toBody(queue), updatedMicros];
    this.#statements.update.run([...values, tenantId, id]);
    return { ...queue, updatedMicros };
  }

  delete(tenantId: string, ids: readonly string[]): readonly string[] {
    return ids.filter((id) => {
      this.#statements.deleteEntries.run([tenantId, id]);
      return this.#statements.delete.run([tenantId, id]).changes > 0;
    });
  }

  addRuns(tenantId: string, id: string, keys: readonly RunKey[]): readonly QueueEntry[] {
    this.#read(tenantId, id);
    this.#checkRuns(tenantId, keys);
    const runIds = [...new Set(keys.map(({ runId }) => runId))];
    const [last] = parseRows(this.#statements.readLast.all([tenantId, id]));
    // At the end, although the clock may have stepped back.
    const addedMicros = Math.max(Date.now() * 1_000, Number(last?.[0] ?? 0));
    return runIds.map((runId) => {
      this.#statements.insertEntry.run([tenantId, id, randomUUID(), runId, addedMicros]);
      const rows = this.#statements.findEntryOfRun.all([tenantId, id, runId]);
      return parseEntryRow(parseRows(rows)[0] ?? []);
    });
  }

  updateRun(tenantId: string, key: EntryKey, changes: EntryChanges): QueueEntry {
    const known = this.#readEntry(tenantId, key);
    const addedMicros = changes.addedMicros ?? known.addedMicros;
    const reviewedMicros =
      changes.reviewedMicros === undefined ? known.reviewedMicros : changes.reviewedMicros;
    const { queueId, entryId } = key;
    const values = [addedMicros, reviewedMicros, tenantId, queueId, entryId];
    this.#statements.updateEntry.run(values);
    return { ...known, addedMicros, reviewedMicros };
  }

  removeRun(tenantId: string, key: EntryKey): void {
    this.#readEntry(tenantId, key);
    this.#statements.deleteEntry.run([tenantId, key.queueId, key.entryId]);
  }

  #read(tenantId: string, id: string): AnnotationQueue {
    const [values] = parseRows(this.#statements.find.all([tenantId, id]));
    if (values === undefined) {
      throw missingQueue(id);
    }
    return parseQueueRow(values);
  }

  #readEntry(tenantId: string, { queueId, entryId }: EntryKey): QueueEntry {
    this.#read(tenantId, queueId);
    const [values] = parseRows(this.#statements.findEntry.all([tenantId, queueId, entryId]));
    if (values === undefined) {
      throw new RequestError(404, `Run ${entryId} is not in annotation queue ${queueId}`);
    }
    return parseEntryRow(values);
  }

  #checkRuns(tenantId: string, keys: readonly RunKey[]): void {
    const unknown = keys.filter(({ runId, projectId }) => {
      const [values] = parseRows(this.#statements.projectOfRun.all([runId, tenantId]));
      return values === undefined || (projectId !== null && values[0] !== projectId);
    });
    if (unknown.length > 0) {
      const ids = unknown.slice(0, namedRuns).map(({ runId }) => runId);
      const more = unknown.length > namedRuns ? ` and ${unknown.length - namedRuns} more` : "";
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
  const one = "tenant_id = ? AND id = ?";
  const inQueue = "tenant_id = ? AND queue_id = ?";
  return {
    find: db.prepare(`${queueSelection} WHERE q.tenant_id = ? AND q.id = ?`).raw(),
    readDigest: db.prepare(`SELECT digest FROM annotation_queues WHERE ${one}`).raw(),
    insert: db.prepare(
      `INSERT INTO annotation_queues (tenant_id, id, name_json, default_dataset_id, body, created_us, updated_us, digest)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    update: db.prepare(
      `UPDATE annotation_queues SET name_json = ?, default_dataset_id = ?, body = ?, updated_us = ? WHERE ${one}`,
    ),
    delete: db.prepare(`DELETE FROM annotation_queues WHERE ${one}`),
    deleteEntries: db.prepare(`DELETE FROM annotation_queue_runs WHERE ${inQueue}`),
    readLast: db.prepare(`SELECT max(added_us) FROM annotation_queue_runs WHERE ${inQueue}`).raw(),
    insertEntry: db.prepare(
      `INSERT OR IGNORE INTO annotation_queue_runs (tenant_id, queue_id, id, run_id, added_us)
       VALUES (?, ?, ?, ?, ?)`,
    ),
    findEntry: db.prepare(`${entrySelection} WHERE ${inQueue} AND id = ?`).raw(),
    findEntryOfRun: db.prepare(`${entrySelection} WHERE ${inQueue} AND run_id = ?`).raw(),
    updateEntry: db.prepare(
      `UPDATE annotation_queue_runs SET added_us = ?, reviewed_us = ? WHERE ${inQueue} AND id = ?`,
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

import type {
  AnnotationQueue,
  AnnotationQueueReads,
  EntryQuery,
  QueueEntry,
  QueueQuery,
} from "./annotation-queue.ts";
import {
  entrySelection,
  parseEntryRow,
  parseQueueRow,
  queueSelection,
} from "./annotation-queue-row.ts";
import { namelessReviewer } from "./queue-review.ts";
import { microsNow } from "../storage/sqlite/clock.ts";
import type { Clock } from "../storage/sqlite/clock.ts";
import { parseRows } from "../storage/sqlite/rows.ts";
import type { Connection } from "../storage/sqlite/connection.ts";

const columns = {
  name: "q.name_json",
  created_at: "q.created_us",
  updated_at: "q.updated_us",
} as const;

/**
 * SQL condition on entries `e` of a queue: `?1` is the tenant, `?2` the queue, `?3` a status or null. API callers
 * count as the reviewer without a name.
 */
export const entryCondition = `e.tenant_id = ?1 AND e.queue_id = ?2 AND (?3 IS NULL OR ?3 = CASE
  WHEN e.completed_us IS NOT NULL THEN 'completed'
  WHEN EXISTS (SELECT 1 FROM annotation_queue_reviews v
    WHERE v.place = e.place AND v.reviewer = '${namelessReviewer}' AND v.done_us IS NOT NULL) THEN 'needs_others_review'
  ELSE 'needs_my_review' END)`;

/** Queries annotation queues. */
export class AnnotationQueueReader implements AnnotationQueueReads {
  readonly #db: Connection;
  readonly #clock: Clock;
  readonly #statements;

  constructor(db: Connection, clock: Clock = microsNow) {
    this.#db = db;
    this.#clock = clock;
    this.#statements = {
      find: db.prepare(`${queueSelection} WHERE q.tenant_id = ? AND q.id = ?`).raw(),
      listEntries: db
        .prepare(
          `${entrySelection} WHERE ${entryCondition} ORDER BY e.added_us, e.place LIMIT ?4 OFFSET ?5`,
        )
        .raw(),
      lastAdded: db
        .prepare(
          `SELECT run_id, max(added_us) FROM annotation_queue_runs
           WHERE tenant_id = ? AND run_id IN (SELECT value FROM json_each(?)) GROUP BY run_id`,
        )
        .raw(),
      size: db
        .prepare(`SELECT count(*) FROM annotation_queue_runs e WHERE ${entryCondition}`)
        .raw(),
    };
  }

  find(tenantId: string, id: string): AnnotationQueue | undefined {
    const [values] = parseRows(this.#statements.find.all([tenantId, id]));
    return values === undefined ? undefined : parseQueueRow(values);
  }

  list(tenantId: string, query: QueueQuery): readonly AnnotationQueue[] {
    const { ids, name, nameContains, defaultDatasetId, runId, limit, offset } = query;
    const direction = query.isDescending ? "DESC" : "ASC";
    const rows = this.#db
      .prepare(
        `${queueSelection} WHERE q.tenant_id = ?1 AND (?2 IS NULL OR q.id IN (SELECT value FROM json_each(?2)))
           AND (?3 IS NULL OR q.name_json = ?3) AND (?4 IS NULL OR instr(lower(q.name_json), lower(?4)) > 0)
           AND (?5 IS NULL OR q.default_dataset_id = ?5)
           AND (?6 IS NULL OR q.id IN (SELECT queue_id FROM annotation_queue_runs WHERE tenant_id = ?1 AND run_id = ?6))
         ORDER BY ${columns[query.sortBy]} ${direction}, q.id ${direction} LIMIT ?7 OFFSET ?8`,
      )
      .raw()
      .all([
        tenantId,
        ids === undefined ? null : JSON.stringify(ids),
        name === undefined ? null : JSON.stringify(name),
        nameContains === undefined ? null : JSON.stringify(nameContains).slice(1, -1),
        defaultDatasetId ?? null,
        runId ?? null,
        limit,
        offset,
      ]);
    return parseRows(rows).map(parseQueueRow);
  }

  listEntries(
    tenantId: string,
    { queueId, status, limit, offset }: EntryQuery,
  ): readonly QueueEntry[] {
    const values = [tenantId, queueId, status ?? null, limit, offset];
    const nowMicros = this.#clock();
    return parseRows(this.#statements.listEntries.all(values)).map((row) =>
      parseEntryRow(row, nowMicros),
    );
  }

  size(tenantId: string, { queueId, status }: Pick<EntryQuery, "queueId" | "status">): number {
    const rows = this.#statements.size.all([tenantId, queueId, status ?? null]);
    return Number(parseRows(rows)[0]?.[0]);
  }

  lastAdded(tenantId: string, runIds: readonly string[]): ReadonlyMap<string, number> {
    const rows = parseRows(this.#statements.lastAdded.all([tenantId, JSON.stringify(runIds)]));
    return new Map(rows.map(([id, micros]) => [String(id), Number(micros)]));
  }
}

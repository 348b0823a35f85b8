import type {
  AnnotationQueue,
  AnnotationQueueReads,
  EntryQuery,
  QueueEntry,
  QueueQuery,
} from "./annotation-queue.ts";
import {
  annotationQueueQueries,
  queueLists,
  selectWithStatus,
  addEntryColumns,
} from "./annotation-queue-queries.ts";
import { parseEntryRow, parseQueueRow } from "./annotation-queue-row.ts";
import { microsNow } from "../storage/clock.ts";
import type { Clock } from "../storage/clock.ts";
import { escapeJsonPart } from "../storage/dialect.ts";
import type { Database } from "../storage/query.ts";

export class AnnotationQueueReader implements AnnotationQueueReads {
  readonly #db: Database;
  readonly #clock: Clock;

  constructor(db: Database, clock: Clock = microsNow) {
    this.#db = db;
    this.#clock = clock;
  }

  async find(tenantId: string, id: string): Promise<AnnotationQueue | undefined> {
    const row = await this.#db.first(annotationQueueQueries.find, { tenantId, id });
    return row === undefined ? undefined : parseQueueRow(row);
  }

  async list(tenantId: string, query: QueueQuery): Promise<readonly AnnotationQueue[]> {
    const { ids, name, nameContains, defaultDatasetId, runId, limit, offset } = query;
    const { sortBy, isDescending } = query;
    const values = {
      tenantId,
      ids: ids && JSON.stringify(ids),
      nameJson: name === undefined ? undefined : JSON.stringify(name),
      namePart: nameContains === undefined ? undefined : escapeJsonPart(nameContains),
      defaultDatasetId,
      runId,
      limit,
      offset,
    };
    const list = queueLists.select(values, { sortBy, isDescending });
    return (await this.#db.all(list, values)).map(parseQueueRow);
  }

  async listEntries(tenantId: string, query: EntryQuery): Promise<readonly QueueEntry[]> {
    const nowMicros = this.#clock();
    const rows = await this.#db.all(
      addEntryColumns(selectWithStatus(tenantId, query))
        .orderBy("e.added_us")
        .orderBy("e.place")
        .limit(query.limit)
        .offset(query.offset),
    );
    return rows.map((row) => parseEntryRow(row, nowMicros));
  }

  async countEntries(
    tenantId: string,
    query: Pick<EntryQuery, "queueId" | "status">,
  ): Promise<number> {
    const row = await this.#db.first(
      selectWithStatus(tenantId, query).select((eb) => eb.fn.countAll<number>().as("count")),
    );
    return row?.count ?? 0;
  }

  async readLastAdded(
    tenantId: string,
    runIds: readonly string[],
  ): Promise<ReadonlyMap<string, number>> {
    const runIdsJson = JSON.stringify(runIds);
    const rows = await this.#db.all(annotationQueueQueries.readLastAddedTimes, {
      tenantId,
      ids: runIdsJson,
    });
    return new Map(rows.map(({ run_id: id, added_us: micros }) => [id, micros]));
  }
}

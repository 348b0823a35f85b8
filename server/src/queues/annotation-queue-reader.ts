import type {
  AnnotationQueue,
  AnnotationQueueReads,
  EntryQuery,
  QueueEntry,
  QueueQuery,
} from "./annotation-queue.ts";
import {
  annotationQueueQueries,
  queueBuilder,
  selectQueues,
  selectWithStatus,
  addEntryColumns,
} from "./annotation-queue-queries.ts";
import { parseEntryRow, parseQueueRow } from "./annotation-queue-row.ts";
import { microsNow } from "../storage/clock.ts";
import type { Clock } from "../storage/clock.ts";
import { containsIgnoringCase, isInList } from "../storage/dialect.ts";
import type { Database } from "../storage/query.ts";

const sortColumns = {
  name: "q.name_json",
  created_at: "q.created_us",
  updated_at: "q.updated_us",
} as const;

/** Queries annotation queues. */
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
    return (await this.#db.all(buildListQuery(tenantId, query))).map(parseQueueRow);
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

function buildListQuery(tenantId: string, query: QueueQuery) {
  const { ids, name, nameContains, defaultDatasetId, runId } = query;
  let list = selectQueues(tenantId);
  if (ids !== undefined) {
    list = list.where((eb) => isInList(eb.ref("q.id"), ids));
  }
  if (name !== undefined) {
    list = list.where("q.name_json", "=", JSON.stringify(name));
  }
  if (nameContains !== undefined) {
    const escapedNamePart = JSON.stringify(nameContains).slice(1, -1);
    list = list.where((eb) => containsIgnoringCase(eb.ref("q.name_json"), escapedNamePart));
  }
  if (defaultDatasetId !== undefined) {
    list = list.where("q.default_dataset_id", "=", defaultDatasetId);
  }
  if (runId !== undefined) {
    const queueIds = queueBuilder
      .selectFrom("annotation_queue_runs")
      .select("queue_id")
      .where("tenant_id", "=", tenantId)
      .where("run_id", "=", runId);
    list = list.where("q.id", "in", queueIds);
  }
  const direction = query.isDescending ? "desc" : "asc";
  return list
    .orderBy(sortColumns[query.sortBy], direction)
    .orderBy("q.id", direction)
    .limit(query.limit)
    .offset(query.offset);
}

import { sql } from "kysely";
import type { Expression, Generated } from "kysely";
import { aggregateListsToJson, containsIgnoringCase, isInList } from "../storage/dialect.ts";
import { createQueryBuilder, Query, QueryForms } from "../storage/query.ts";
import type { Parameters, RowOf } from "../storage/query.ts";
import { namelessReviewer } from "./queue-review.ts";
import type { EntryKey, EntryQuery, QueueQuery } from "./annotation-queue.ts";

interface QueueTable {
  readonly tenant_id: string;
  readonly id: string;
  readonly name_json: string;
  readonly default_dataset_id: string | null;
  readonly body: string;
  readonly created_us: number;
  readonly updated_us: number;
  readonly digest: string;
}

interface EntryTable {
  /**
   * The row number, which the database assigns in ascending order. It orders entries that were added at the same time.
   */
  readonly place: Generated<number>;
  readonly tenant_id: string;
  readonly queue_id: string;
  readonly id: string;
  readonly run_id: string;
  readonly added_us: number;
  readonly reviewed_us: number | null;
  readonly completed_us: number | null;
}

interface ReviewTable {
  readonly place: number;
  readonly reviewer: string;
  readonly tenant_id: string;
  readonly queue_id: string;
  readonly until_us: number | null;
  readonly skipped_us: number | null;
  readonly done_us: number | null;
}

/** The tables of queues, and the columns of other tables that their queries use. */
interface QueueTables {
  readonly annotation_queues: QueueTable;
  readonly annotation_queue_runs: EntryTable;
  readonly annotation_queue_reviews: ReviewTable;
  readonly datasets: { readonly id: string; readonly tenant_id: string };
  readonly projects: { readonly id: string; readonly tenant_id: string };
  readonly runs: {
    readonly id: string;
    readonly project_id: string;
    readonly name: string;
    readonly run_type: string;
    readonly has_error: number;
    readonly start_us: number;
    readonly end_us: number | null;
  };
}

/** Builds queries of annotation queues and of their entries. */
export const queueBuilder = createQueryBuilder<QueueTables>();

type Id = Expression<string> | string;
type TenantEntryKey = EntryKey & { readonly tenantId: string };
type QueueKey = Omit<TenantEntryKey, "entryId">;
type NewEntry = Pick<EntryTable, "tenant_id" | "queue_id" | "id" | "run_id" | "added_us">;

/** Selects the queues of a tenant, under the alias `q`, with the number of runs in each. */
const selectQueues = (tenantId: Id) =>
  queueBuilder
    .selectFrom("annotation_queues as q")
    .select([
      "q.id",
      "q.tenant_id",
      "q.name_json",
      "q.default_dataset_id",
      "q.body",
      "q.created_us",
      "q.updated_us",
    ])
    .select((eb) =>
      eb
        .selectFrom("annotation_queue_runs as e")
        .select(eb.fn.countAll<number>().as("count"))
        .whereRef("e.tenant_id", "=", "q.tenant_id")
        .whereRef("e.queue_id", "=", "q.id")
        .as("size"),
    )
    .where("q.tenant_id", "=", tenantId);

/** Begins a query of the entries of a queue. The table of the entries has the alias `e`. */
export const selectFromEntries = ({ tenantId, queueId }: Readonly<Record<keyof QueueKey, Id>>) =>
  queueBuilder
    .selectFrom("annotation_queue_runs as e")
    .where("e.tenant_id", "=", tenantId)
    .where("e.queue_id", "=", queueId);

type EntriesBuilder = ReturnType<typeof selectFromEntries>;

/** Adds to a query the columns that {@link parseEntryRow} parses. */
export const addEntryColumns = (entries: EntriesBuilder) =>
  entries
    .select(["e.id", "e.queue_id", "e.run_id", "e.added_us", "e.reviewed_us", "e.completed_us"])
    .select((eb) =>
      eb
        .selectFrom("annotation_queue_reviews as v")
        .select((review) =>
          aggregateListsToJson(
            [review.ref("v.reviewer"), review.ref("v.until_us"), review.ref("v.done_us")],
            review.ref("v.reviewer"),
          ).as("reviews"),
        )
        .whereRef("v.place", "=", "e.place")
        .as("reviews_json"),
    );

/**
 * Begins a query of the entries of a queue, limited to those with `status` if it is given. Each reviewer sees a status
 * of their own; `status` is what the reviewer without a name sees, because the clients of the API pass no name.
 */
export function selectWithStatus(
  tenantId: string,
  { queueId, status }: Pick<EntryQuery, "queueId" | "status">,
): EntriesBuilder {
  const entries = selectFromEntries({ tenantId, queueId });
  if (status === undefined) {
    return entries;
  }
  if (status === "completed") {
    return entries.where("e.completed_us", "is not", null);
  }
  return entries.where("e.completed_us", "is", null).where((eb) => {
    const isReviewed = eb.exists(
      eb
        .selectFrom("annotation_queue_reviews as v")
        .select("v.place")
        .whereRef("v.place", "=", "e.place")
        .where("v.reviewer", "=", namelessReviewer)
        .where("v.done_us", "is not", null),
    );
    return status === "needs_others_review" ? isReviewed : eb.not(isReviewed);
  });
}

/** Selects `place`, the number by which reviews refer to an entry of a queue. */
export const selectPlace = ({ tenantId, queueId, entryId }: Parameters<TenantEntryKey>) =>
  queueBuilder
    .selectFrom("annotation_queue_runs")
    .select("place")
    .where("tenant_id", "=", tenantId)
    .where("queue_id", "=", queueId)
    .where("id", "=", entryId);

/** Updates which entries of a queue are completed, that is, were finished by enough reviewers. */
const updateCompletion = ({
  tenantId,
  queueId,
  reviewersPerRun,
}: Parameters<QueueKey & { reviewersPerRun: number }>) =>
  queueBuilder
    .updateTable("annotation_queue_runs")
    .set((eb) => {
      const finishedReviews = eb
        .selectFrom("annotation_queue_reviews as v")
        .whereRef("v.place", "=", "annotation_queue_runs.place")
        .where("v.done_us", "is not", null);
      const lastDoneMicros = finishedReviews.select((review) =>
        review.fn.max("v.done_us").as("done_us"),
      );
      const count = finishedReviews.select((review) => review.fn.countAll<number>().as("count"));
      return {
        reviewed_us: lastDoneMicros,
        completed_us: sql<number | null>`CASE WHEN ${count} >= ${reviewersPerRun}
          THEN coalesce(${eb.ref("completed_us")}, ${lastDoneMicros}) END`,
      };
    })
    .where("tenant_id", "=", tenantId)
    .where("queue_id", "=", queueId);

/** The queries of annotation queues and of their entries. */
export const annotationQueueQueries = {
  find: new Query(({ tenantId, id }: Parameters<{ tenantId: string; id: string }>) =>
    selectQueues(tenantId).where("q.id", "=", id),
  ),
  readDigest: new Query(({ tenantId, id }: Parameters<{ tenantId: string; id: string }>) =>
    queueBuilder
      .selectFrom("annotation_queues")
      .select("digest")
      .where("tenant_id", "=", tenantId)
      .where("id", "=", id),
  ),
  insert: new Query((row: Parameters<QueueTable>) =>
    queueBuilder.insertInto("annotation_queues").values({
      tenant_id: row.tenant_id,
      id: row.id,
      name_json: row.name_json,
      default_dataset_id: row.default_dataset_id,
      body: row.body,
      created_us: row.created_us,
      updated_us: row.updated_us,
      digest: row.digest,
    }),
  ),
  update: new Query((row: Parameters<Omit<QueueTable, "created_us" | "digest">>) =>
    queueBuilder
      .updateTable("annotation_queues")
      .set({
        name_json: row.name_json,
        default_dataset_id: row.default_dataset_id,
        body: row.body,
        updated_us: row.updated_us,
      })
      .where("tenant_id", "=", row.tenant_id)
      .where("id", "=", row.id),
  ),
  delete: new Query(({ tenantId, id }: Parameters<{ tenantId: string; id: string }>) =>
    queueBuilder
      .deleteFrom("annotation_queues")
      .where("tenant_id", "=", tenantId)
      .where("id", "=", id),
  ),
  deleteEntries: new Query(({ tenantId, queueId }: Parameters<QueueKey>) =>
    queueBuilder
      .deleteFrom("annotation_queue_runs")
      .where("tenant_id", "=", tenantId)
      .where("queue_id", "=", queueId),
  ),
  findEntry: new Query((key: Parameters<TenantEntryKey>) =>
    addEntryColumns(selectFromEntries(key)).where("e.id", "=", key.entryId),
  ),
  findEntryOfRun: new Query((key: Parameters<QueueKey & { runId: string }>) =>
    addEntryColumns(selectFromEntries(key)).where("e.run_id", "=", key.runId),
  ),
  readLastAddedTime: new Query((queue: Parameters<QueueKey>) =>
    selectFromEntries(queue).select((eb) => eb.fn.max<number | null>("e.added_us").as("added_us")),
  ),
  readLastAddedTimes: new Query(
    ({ tenantId, ids: idsJson }: Parameters<{ tenantId: string; ids: string }>) =>
      queueBuilder
        .selectFrom("annotation_queue_runs")
        .select((eb) => ["run_id", eb.fn.max<number>("added_us").as("added_us")])
        .where("tenant_id", "=", tenantId)
        .where((eb) => isInList(eb.ref("run_id"), idsJson))
        .groupBy("run_id"),
  ),
  insertEntry: new Query((row: Parameters<NewEntry>) =>
    queueBuilder
      .insertInto("annotation_queue_runs")
      .values({
        tenant_id: row.tenant_id,
        queue_id: row.queue_id,
        id: row.id,
        run_id: row.run_id,
        added_us: row.added_us,
      })
      .onConflict((conflict) => conflict.columns(["tenant_id", "queue_id", "run_id"]).doNothing()),
  ),
  updateEntry: new Query(
    ({
      tenantId,
      queueId,
      entryId,
      addedMicros,
    }: Parameters<TenantEntryKey & { addedMicros: number }>) =>
      queueBuilder
        .updateTable("annotation_queue_runs")
        .set({ added_us: addedMicros })
        .where("tenant_id", "=", tenantId)
        .where("queue_id", "=", queueId)
        .where("id", "=", entryId),
  ),
  deleteEntry: new Query(({ tenantId, queueId, entryId }: Parameters<TenantEntryKey>) =>
    queueBuilder
      .deleteFrom("annotation_queue_runs")
      .where("tenant_id", "=", tenantId)
      .where("queue_id", "=", queueId)
      .where("id", "=", entryId),
  ),
  writeDone: new Query(
    (review: Parameters<TenantEntryKey & { reviewer: string; doneMicros: number }>) =>
      queueBuilder
        .insertInto("annotation_queue_reviews")
        .columns(["place", "reviewer", "tenant_id", "queue_id", "done_us"])
        .expression(
          selectPlace(review).select([
            sql<string>`${review.reviewer}`.as("reviewer"),
            "tenant_id",
            "queue_id",
            sql<number>`${review.doneMicros}`.as("done_us"),
          ]),
        )
        .onConflict((conflict) =>
          conflict
            .columns(["place", "reviewer"])
            .doUpdateSet((eb) => ({ done_us: eb.ref("excluded.done_us"), until_us: null })),
        ),
  ),
  clearDone: new Query((entry: Parameters<TenantEntryKey>) =>
    queueBuilder
      .updateTable("annotation_queue_reviews")
      .set({ done_us: null })
      .where("place", "=", selectPlace(entry)),
  ),
  updateCompletion: new Query(updateCompletion),
  updateCompletionOfEntry: new Query(
    (key: Parameters<TenantEntryKey & { reviewersPerRun: number }>) =>
      updateCompletion(key).where("id", "=", key.entryId),
  ),
  findProjectOfRun: new Query(
    ({ runId, tenantId }: Parameters<{ runId: string; tenantId: string }>) =>
      queueBuilder
        .selectFrom("runs as r")
        .innerJoin("projects as p", "p.id", "r.project_id")
        .select("r.project_id")
        .where("r.id", "=", runId)
        .where("p.tenant_id", "=", tenantId),
  ),
  findDataset: new Query(({ tenantId, id }: Parameters<{ tenantId: string; id: string }>) =>
    queueBuilder
      .selectFrom("datasets")
      .select("id")
      .where("tenant_id", "=", tenantId)
      .where("id", "=", id),
  ),
};

/** A row of a query that selects annotation queues. */
export type QueueRow = RowOf<typeof annotationQueueQueries.find>;
/** A row of a query that selects entries of annotation queues. An entry is a run in a queue. */
export type EntryRow = RowOf<typeof annotationQueueQueries.findEntry>;

const sortColumns = {
  name: "q.name_json",
  created_at: "q.created_us",
  updated_at: "q.updated_us",
} as const satisfies Readonly<Record<QueueQuery["sortBy"], string>>;

interface QueueListValues {
  readonly tenantId: string;
  /** JSON array of ids. */
  readonly ids?: string | undefined;
  readonly nameJson?: string | undefined;
  /** The text to search for in names, escaped as in JSON but without quotes, because names are stored as JSON. */
  readonly namePart?: string | undefined;
  readonly defaultDatasetId?: string | undefined;
  readonly runId?: string | undefined;
  readonly limit: number;
  readonly offset: number;
}

/** Lists the queues of a tenant that meet all filters that are set. */
export const queueLists = new QueryForms(
  (
    values: Parameters<QueueListValues>,
    { sortBy, isDescending }: Pick<QueueQuery, "sortBy" | "isDescending">,
  ) => {
    const { tenantId, ids, nameJson, namePart, defaultDatasetId, runId } = values;
    let list = selectQueues(tenantId);
    if (ids !== undefined) {
      list = list.where((eb) => isInList(eb.ref("q.id"), ids));
    }
    if (nameJson !== undefined) {
      list = list.where("q.name_json", "=", nameJson);
    }
    if (namePart !== undefined) {
      list = list.where((eb) => containsIgnoringCase(eb.ref("q.name_json"), namePart));
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
    const direction = isDescending ? "desc" : "asc";
    return list
      .orderBy(sortColumns[sortBy], direction)
      .orderBy("q.id", direction)
      .limit(values.limit)
      .offset(values.offset);
  },
);

import { sql } from "kysely";
import type { Expression } from "kysely";
import { isInList, isInNumberList, perEngine, withoutIndex } from "../../storage/dialect.ts";
import { columnsOf, createQueryBuilder, Query, QueryForms } from "../../storage/query.ts";
import type { Parameters, RowOf, RowOfBuilt } from "../../storage/query.ts";
import type { ExampleOrder } from "./example.ts";
import { createScopeConditions, splitsColumn } from "./example-conditions.ts";
import type { ScopeValues } from "./example-conditions.ts";
import { hasOneOfIds, selectRowsOfExample } from "./example-ids.ts";
import type { ExampleFileTable, ExampleTables } from "./example-ids.ts";

/**
 * The `to_us` of a staged row, which is written before its version exists; see `ExampleStages`. It is before the row's
 * `from_us`, so the row is in no version yet.
 */
export const stagedMicros = 0;

interface ExampleQueryTables extends ExampleTables {
  /** Only the columns that queries of examples use. */
  readonly datasets: {
    readonly id: string;
    readonly tenant_id: string;
    readonly name_json: string;
    readonly version_us: number | null;
    readonly is_ready: number;
  };
}

const builder = createQueryBuilder<ExampleQueryTables>();

/**
 * Selects the rows `e` of examples in visible datasets `d`. A dataset that is being uploaded or deleted is not visible.
 */
const readyExamples = builder
  .selectFrom("examples as e")
  .innerJoin("datasets as d", (join) =>
    join.onRef("d.id", "=", "e.dataset_id").on("d.is_ready", "=", sql.lit(1)),
  );

const readyDatasets = builder
  .selectFrom("datasets")
  .select("id")
  .where("is_ready", "=", sql.lit(1));

/** The columns that `parseExampleRow` parses. */
const exampleColumns = [
  "e.id",
  "e.dataset_id",
  "d.name_json",
  "e.created_us",
  "e.from_us",
  "e.source_run_id",
  "e.inputs",
  "e.outputs",
  "e.metadata",
  "e.attachments",
  "e.position",
] as const;

/** Selects examples with the keys of their rows. */
const examplesWithKeys = readyExamples.select(exampleColumns).select("e.key");

const exampleTableColumns = [
  "key",
  "position",
  "tenant_id",
  "dataset_id",
  "id",
  "created_us",
  "from_us",
  "to_us",
  "source_run_id",
  "inputs",
  "outputs",
  "metadata",
  "attachments",
] as const;

/** The queries of examples whose conditions are fixed. */
export const exampleQueries = {
  findFile: new Query(({ key }: Parameters<{ key: number }>) =>
    builder
      .selectFrom("example_blobs")
      .select(["bytes", "checksum", "example_id"])
      .where("key", "=", key),
  ),
  // Selects the newest row that is not staged. All rows of an example have the same position, because updates keep it.
  findLocation: new Query(({ tenantId, id }: Parameters<{ tenantId: string; id: string }>) =>
    selectRowsOfExample(id)
      .select(["e.dataset_id", "e.position"])
      .where("e.tenant_id", "=", tenantId)
      .where((eb) => eb.or([eb("e.to_us", "is", null), eb("e.to_us", "<>", sql.lit(stagedMicros))]))
      .orderBy("e.from_us", "desc")
      .limit(sql.lit(1)),
  ),
  // Use the index on source runs instead of the index on datasets, because few examples have a source run.
  listSourceRunIds: new Query(
    ({ tenantId, runIds: runIdsJson }: Parameters<{ tenantId: string; runIds: string }>) =>
      builder
        .selectFrom("examples as e")
        .select("e.source_run_id")
        .distinct()
        .where((eb) => isInList(eb.ref("e.source_run_id"), runIdsJson))
        .where("e.to_us", "is", null)
        .where("e.tenant_id", "=", tenantId)
        .where((eb) => eb(withoutIndex(eb.ref("e.dataset_id")), "in", readyDatasets)),
  ),
  findNewestVersion: new Query(({ tenantId, id }: Parameters<{ tenantId: string; id: string }>) =>
    builder
      .selectFrom("datasets")
      .select("version_us")
      .where("id", "=", id)
      .where("tenant_id", "=", tenantId),
  ),
  findCurrent: new Query(
    ({ tenantId, ids: idsJson }: Parameters<{ tenantId: string; ids: string }>) =>
      examplesWithKeys
        .where(hasOneOfIds(idsJson))
        .where("e.tenant_id", "=", tenantId)
        .where((eb) => eb(withoutIndex(eb.ref("e.to_us")), "is", null)),
  ),
  listCurrent: new Query(
    ({
      datasetId,
      after,
      limit,
    }: Parameters<{ datasetId: string; after: number; limit: number }>) =>
      examplesWithKeys
        .where("e.dataset_id", "=", datasetId)
        .where("e.position", ">", after)
        .where("e.to_us", "is", null)
        .orderBy("e.position")
        .limit(limit),
  ),
  countCurrent: new Query(({ datasetId }: Parameters<{ datasetId: string }>) =>
    builder
      .selectFrom("examples")
      .select(sql<number>`count(*)`.as("n"))
      .where("dataset_id", "=", datasetId)
      .where("to_us", "is", null),
  ),
  // The rows of all versions of these examples.
  findRows: new Query(({ tenantId, ids }: Parameters<{ tenantId: string; ids: string }>) =>
    builder
      .selectFrom("examples as e")
      .leftJoin("datasets as d", (join) =>
        join.onRef("d.id", "=", "e.dataset_id").on("d.is_ready", "=", sql.lit(1)),
      )
      .select([
        "e.id",
        "e.key",
        "e.dataset_id",
        sql<number>`CASE WHEN e.to_us IS NULL AND d.id IS NOT NULL THEN 1 ELSE 0 END`.as(
          "is_current",
        ),
      ])
      .where(hasOneOfIds(ids))
      .where("e.tenant_id", "=", tenantId),
  ),
  listKeys: new Query(({ datasetId, limit }: Parameters<{ datasetId: string; limit: number }>) =>
    builder.selectFrom("examples").select("key").where("dataset_id", "=", datasetId).limit(limit),
  ),
  insert: new Query((row: Parameters<ExampleTables["examples"]>) =>
    builder.insertInto("examples").values(columnsOf(row, exampleTableColumns)),
  ),
  end: new Query(({ key, micros }: Parameters<{ key: number; micros: number }>) =>
    builder.updateTable("examples").set({ to_us: micros }).where("key", "=", key),
  ),
  endAll: new Query(({ keys: keysJson, micros }: Parameters<{ keys: string; micros: number }>) =>
    builder
      .updateTable("examples")
      .set({ to_us: micros })
      .where((eb) => isInNumberList(eb.ref("key"), keysJson)),
  ),
  erase: new Query(({ keys }: Parameters<{ keys: string }>) =>
    builder.deleteFrom("examples").where((eb) => isInNumberList(eb.ref("key"), keys)),
  ),
  // Erases the attachments of the examples that these rows contain. If `datasetId` is null, erases the attachments in
  // all datasets, otherwise only those in that dataset.
  eraseFiles: new Query(
    ({ keys, datasetId }: Parameters<{ keys: string; datasetId: string | null }>) =>
      builder
        .deleteFrom("example_blobs")
        .where((eb) =>
          eb(
            eb.refTuple("example_id", "tenant_id"),
            "in",
            eb
              .selectFrom("examples")
              .select(["id", "tenant_id"])
              .where(isInNumberList(sql.ref("key"), keys))
              .$asTuple("id", "tenant_id"),
          ),
        )
        .where(sql<boolean>`coalesce(dataset_id = ${datasetId}, TRUE)`),
  ),
  insertFile: new Query((row: Parameters<Omit<ExampleFileTable, "key">>) =>
    builder
      .insertInto("example_blobs")
      .values(columnsOf(row, ["tenant_id", "dataset_id", "example_id", "bytes", "checksum"]))
      .returning("key"),
  ),
};

/** The values in a query that lists examples. */
export interface ExampleListValues extends ScopeValues {
  /** The list contains only examples after this position. */
  readonly after?: number | undefined;
  /** Determines the order of a list in random order. */
  readonly seed?: number | undefined;
  readonly limit: number;
  readonly offset: number;
}

/** The values in a query that lists examples with the beginnings of their payloads. */
export interface ExamplePreviewValues extends ExampleListValues {
  /** Maximum number of characters of each payload. */
  readonly previewChars: number;
}

/** The order of a list of examples. */
export interface ExampleListOptions {
  readonly order: ExampleOrder;
  readonly isDescending: boolean;
}

/**
 * Selects the rows of one page of examples, in the requested order.
 *
 * @param conditions - conditions in addition to those that the values require
 */
function selectPage(
  values: Parameters<ExampleListValues>,
  { order, isDescending }: ExampleListOptions,
  conditions: readonly Expression<boolean>[],
) {
  const { after, seed, limit, offset } = values;
  const direction = isDescending ? "desc" : "asc";
  let list = readyExamples.where((eb) => eb.and([...createScopeConditions(values), ...conditions]));
  if (after !== undefined) {
    list = list.where("e.position", isDescending ? "<" : ">", after);
  }
  list = list.limit(limit).offset(offset);
  switch (order) {
    case "recent":
      // Examples that were written at the same time keep the order in which they were created.
      return list.orderBy("e.from_us", direction).orderBy("e.key");
    case "recently_created":
      return list.orderBy("e.created_us", direction).orderBy("e.position");
    case "id":
      return list.orderBy("e.id", direction);
    case "written":
      return list.orderBy("e.position", direction);
    case "random":
      return list
        .orderBy(sql`(e.key * 2654435761 + ${seed ?? sql.lit(0)}) % 4294967291`)
        .orderBy("e.key");
  }
}

/** Builds a query that lists examples with whole payloads, for `parseExampleRow`. */
export const buildExampleList = (
  values: Parameters<ExampleListValues>,
  options: ExampleListOptions,
  conditions: readonly Expression<boolean>[] = [],
) => selectPage(values, options, conditions).select(exampleColumns);

/** Lists examples with the beginnings of their payloads, for `parsePreviewRow`. */
export const buildPreviewList = (
  values: Parameters<ExamplePreviewValues>,
  options: ExampleListOptions,
  conditions: readonly Expression<boolean>[] = [],
) =>
  selectPage(values, options, conditions).select([
    "e.id",
    "e.created_us",
    "e.from_us",
    "e.source_run_id",
    sql<string>`substr(e.inputs, 1, ${values.previewChars})`.as("inputs"),
    sql<number>`length(e.inputs)`.as("input_chars"),
    sql<string | null>`substr(e.outputs, 1, ${values.previewChars})`.as("outputs"),
    sql<number | null>`length(e.outputs)`.as("output_chars"),
    sql<string>`substr(e.metadata, 1, ${values.previewChars})`.as("metadata"),
    sql<number>`length(e.metadata)`.as("metadata_chars"),
    splitsColumn.as("splits"),
    attachmentCount.as("attachment_count"),
  ]);

const attachmentCount = perEngine<number>({
  sqlite: sql`coalesce(json_array_length(e.attachments), 0)`,
  postgres: sql`coalesce(json_array_length(e.attachments::json), 0)`,
});

/** Builds a query that counts the examples that a list would contain. */
export const buildExampleCount = (
  values: Parameters<ScopeValues>,
  conditions: readonly Expression<boolean>[] = [],
) =>
  readyExamples
    .select(sql<number>`count(*)`.as("n"))
    .where((eb) => eb.and([...createScopeConditions(values), ...conditions]));

/** Selects examples for an `ExampleTextSearch`, which adds the condition for the search terms and the order. */
export const buildSearch = (
  values: Parameters<ScopeValues>,
  conditions: readonly Expression<boolean>[],
) =>
  readyExamples
    .select(exampleColumns)
    .where((eb) => eb.and([...createScopeConditions(values), ...conditions]));

// These queries depend only on which values are set, so each is built once and reused. A query with a condition on
// texts, metadata or a filter expression is built anew for each call, because it seldom occurs twice.
export const exampleListQueries = new QueryForms(buildExampleList);
/** The queries that {@link buildPreviewList} builds. */
export const previewListQueries = new QueryForms(buildPreviewList);
/** The queries that {@link buildExampleCount} builds without further conditions. */
export const exampleCountQueries = new QueryForms((values: Parameters<ScopeValues>) =>
  buildExampleCount(values),
);

/** Selects examples in any order, such as those with certain ids. */
export const exampleLookupQueries = new QueryForms((values: Parameters<ScopeValues>) =>
  readyExamples.select(exampleColumns).where((eb) => eb.and(createScopeConditions(values))),
);

/** Lists the distinct lists of splits that examples have, as JSON. */
export const splitListQueries = new QueryForms((values: Parameters<ScopeValues>) =>
  builder
    .selectFrom("examples as e")
    .select(splitsColumn.as("splits"))
    .distinct()
    .where((eb) => eb.and(createScopeConditions(values))),
);

interface ExamplePageValues extends ScopeValues {
  readonly after: number;
  readonly limit: number;
  readonly bytesMax: number;
}

/**
 * Lists a page of examples in the order in which they were created. The page ends with the example that makes its total
 * size exceed `bytesMax`. SQLite's `octet_length` reads only the header of a row, so the texts of later rows are not
 * read.
 */
export const examplePageQueries = new QueryForms((values: Parameters<ExamplePageValues>) => {
  const sizes = builder
    .selectFrom("examples as e")
    .select([
      "e.key",
      "e.position",
      sql<number>`octet_length(e.inputs) + coalesce(octet_length(e.outputs), 0) + octet_length(e.metadata)`.as(
        "size",
      ),
    ])
    .where((eb) => eb.and(createScopeConditions(values)))
    .where("e.position", ">", values.after)
    .orderBy("e.position")
    .limit(values.limit);
  const cumulativeSizes = builder
    .selectFrom(sizes.as("s"))
    .select([
      "s.key",
      sql<number>`sum(s.size) OVER (ORDER BY s.position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)`.as(
        "bytes_before",
      ),
    ]);
  const keys = builder
    .selectFrom(cumulativeSizes.as("b"))
    .select("b.key")
    .where(sql<boolean>`coalesce(b.bytes_before, 0) <= ${values.bytesMax}`);
  return readyExamples.select(exampleColumns).where("e.key", "in", keys).orderBy("e.position");
});

/** A row of a query that selects examples with whole payloads. */
export type ExampleRow = RowOfBuilt<typeof buildExampleList>;
/** A row of a query that selects examples with the beginnings of their payloads. */
export type PreviewRow = RowOfBuilt<typeof buildPreviewList>;
/** A row of an example in the newest version, with the key of the row. */
export type CurrentRow = RowOf<typeof exampleQueries.findCurrent>;

import { sql } from "kysely";
import type { Expression } from "kysely";
import {
  containsIgnoringCase,
  isInList,
  perEngine,
  readJsonMember,
  isWithinTimeLimit,
  withoutIndex,
} from "../storage/dialect.ts";
import { columnsOf, createQueryBuilder, Query, QueryForms } from "../storage/query.ts";
import type { Parameters, RowOf } from "../storage/query.ts";
import type { DatasetOrder } from "./dataset.ts";
import { selectRowsOfExample } from "./examples/example-ids.ts";
import type { ExampleTables } from "./examples/example-ids.ts";

/** The columns of a dataset for the fields that clients write. */
interface DatasetColumns {
  readonly name_json: string;
  /** All other fields of a dataset, as JSON. */
  readonly body: string;
}

interface DatasetTable extends DatasetColumns {
  readonly id: string;
  readonly tenant_id: string;
  readonly created_us: number;
  readonly modified_us: number;
  readonly version_us: number | null;
  readonly example_count: number;
  /** One of {@link datasetStates}. */
  readonly is_ready: number;
  readonly share_digest: string | null;
  readonly share_sealed: string | null;
  readonly index_json: string | null;
}

/**
 * States of a dataset, as its column `is_ready` stores them: `unready` while it is being uploaded, `retired` while it
 * is being deleted. Only ready datasets are visible.
 */
export const datasetStates = { unready: 0, ready: 1, retired: 2 } as const;

interface DatasetTables extends ExampleTables {
  readonly datasets: DatasetTable;
  readonly dataset_versions: {
    readonly tenant_id: string;
    readonly dataset_id: string;
    readonly at_us: number;
    readonly author_json: string | null;
  };
  readonly dataset_tags: {
    readonly tenant_id: string;
    readonly dataset_id: string;
    readonly tag_json: string;
    readonly at_us: number;
  };
  /** This table and the tables below list only the columns that queries of datasets use. */
  readonly projects: {
    readonly id: string;
    readonly tenant_id: string;
    readonly start_us: number;
    readonly reference_dataset_id: string | null;
  };
  readonly comparatives: {
    readonly id: string;
    readonly tenant_id: string;
    readonly dataset_id: string;
  };
  readonly comparative_experiments: {
    readonly tenant_id: string;
    readonly comparative_id: string;
  };
  readonly annotation_queues: {
    readonly tenant_id: string;
    readonly default_dataset_id: string | null;
  };
}

const builder = createQueryBuilder<DatasetTables>();

/** Selects visible datasets, each with the number of experiments on it. `parseDatasetRow` parses the rows. */
const selectDatasets = () =>
  builder
    .selectFrom("datasets as d")
    .leftJoin("projects as p", (join) =>
      join.onRef("p.reference_dataset_id", "=", "d.id").onRef("p.tenant_id", "=", "d.tenant_id"),
    )
    .select([
      "d.id",
      "d.tenant_id",
      "d.name_json",
      "d.created_us",
      "d.modified_us",
      "d.version_us",
      "d.example_count",
      "d.share_sealed",
      "d.index_json",
      "d.body",
      sql<number>`count(p.id)`.as("session_count"),
      sql<number | null>`max(p.start_us)`.as("last_session_us"),
    ])
    .where("d.is_ready", "=", sql.lit(datasetStates.ready))
    .groupBy(["d.id", "d.tenant_id"]);

/** SQL that is 1 if the row `e` of an example is valid at a time, otherwise 0. */
const isValidAt = (micros: Expression<number>) =>
  sql<number>`CASE WHEN e.from_us <= ${micros} AND (e.to_us IS NULL OR e.to_us > ${micros}) THEN 1 ELSE 0 END`;

/**
 * SQL for the new `modified_us` of a dataset, which must increase with every change: the time of the change, or a
 * microsecond after the stored one if the clock was set back or a client has backdated the change.
 */
const laterModification = (micros: Expression<number>) =>
  sql<number>`CASE WHEN modified_us < ${micros} THEN ${micros} ELSE modified_us + 1 END`;

type DatasetKey = { readonly tenantId: string; readonly id: string };

/** The queries of datasets, their versions and their tags. */
export const datasetQueries = {
  find: new Query(({ tenantId, id }: Parameters<DatasetKey>) =>
    selectDatasets().where("d.id", "=", id).where("d.tenant_id", "=", tenantId),
  ),
  findShared: new Query(({ digest }: Parameters<{ digest: string }>) =>
    selectDatasets().where("d.share_digest", "=", digest),
  ),
  findByName: new Query(
    ({ tenantId, nameJson }: Parameters<{ tenantId: string; nameJson: string }>) =>
      builder
        .selectFrom("datasets")
        .select("id")
        .where("tenant_id", "=", tenantId)
        .where("name_json", "=", nameJson),
  ),
  findTenant: new Query(({ id }: Parameters<{ id: string }>) =>
    builder.selectFrom("datasets").select("tenant_id").where("id", "=", id),
  ),
  insert: new Query(
    (
      row: Parameters<
        Pick<DatasetTable, "id" | "tenant_id" | "created_us" | "is_ready"> & DatasetColumns
      >,
    ) =>
      builder.insertInto("datasets").values({
        ...columnsOf(row, ["id", "tenant_id", "created_us", "is_ready", "name_json", "body"]),
        modified_us: row.created_us,
        example_count: sql.lit(0),
      }),
  ),
  update: new Query((row: Parameters<Pick<DatasetTable, "id" | "modified_us"> & DatasetColumns>) =>
    builder
      .updateTable("datasets")
      .set({
        ...columnsOf(row, ["name_json", "body"]),
        modified_us: laterModification(row.modified_us),
      })
      .where("id", "=", row.id),
  ),
  setShare: new Query(
    (row: Parameters<Pick<DatasetTable, "id" | "share_digest" | "share_sealed">>) =>
      builder
        .updateTable("datasets")
        .set(columnsOf(row, ["share_digest", "share_sealed"]))
        .where("id", "=", row.id),
  ),
  setIndex: new Query((row: Parameters<Pick<DatasetTable, "id" | "index_json">>) =>
    builder.updateTable("datasets").set({ index_json: row.index_json }).where("id", "=", row.id),
  ),
  setReady: new Query(({ id }: Parameters<{ id: string }>) =>
    builder
      .updateTable("datasets")
      .set({ is_ready: sql.lit(datasetStates.ready) })
      .where("id", "=", id),
  ),
  retire: new Query((row: Parameters<Pick<DatasetTable, "id" | "name_json">>) =>
    builder
      .updateTable("datasets")
      .set({
        is_ready: sql.lit(datasetStates.retired),
        name_json: row.name_json,
        share_digest: null,
        share_sealed: null,
      })
      .where("id", "=", row.id),
  ),
  findRetired: new Query(() =>
    builder
      .selectFrom("datasets")
      .select("id")
      .where("is_ready", "=", sql.lit(datasetStates.retired))
      .limit(sql.lit(1)),
  ),
  listIncomplete: new Query(() =>
    builder
      .selectFrom("datasets")
      .select("id")
      .where("is_ready", "<>", sql.lit(datasetStates.ready)),
  ),
  findUnready: new Query(({ tenantId, id }: Parameters<DatasetKey>) =>
    builder
      .selectFrom("datasets")
      .select(["created_us", "body"])
      .where("id", "=", id)
      .where("tenant_id", "=", tenantId)
      .where("is_ready", "=", sql.lit(datasetStates.unready)),
  ),
  insertVersion: new Query((row: Parameters<DatasetTables["dataset_versions"]>) =>
    builder
      .insertInto("dataset_versions")
      .values(columnsOf(row, ["tenant_id", "dataset_id", "at_us", "author_json"])),
  ),
  setVersion: new Query(
    ({
      id,
      micros,
      countChange,
    }: Parameters<{ id: string; micros: number; countChange: number }>) =>
      builder
        .updateTable("datasets")
        .set({
          version_us: micros,
          modified_us: laterModification(micros),
          example_count: sql`example_count + ${countChange}`,
        })
        .where("id", "=", id),
  ),
  findVersionAt: new Query(({ id, micros }: Parameters<{ id: string; micros: number }>) =>
    builder
      .selectFrom("dataset_versions")
      .select("at_us")
      .where("dataset_id", "=", id)
      .where("at_us", "<=", micros)
      .orderBy("at_us", "desc")
      .limit(sql.lit(1)),
  ),
  findVersionAuthor: new Query(({ id, micros }: Parameters<{ id: string; micros: number }>) =>
    builder
      .selectFrom("dataset_versions")
      .select("author_json")
      .where("dataset_id", "=", id)
      .where("at_us", "<=", micros)
      .orderBy("at_us", "desc")
      .limit(sql.lit(1)),
  ),
  countVersions: new Query(
    ({ tenantId, id, micros }: Parameters<{ tenantId: string; id: string; micros: number }>) =>
      builder
        .selectFrom("dataset_versions")
        .select(({ fn }) => fn.countAll<number | string>().as("count"))
        .where("tenant_id", "=", tenantId)
        .where("dataset_id", "=", id)
        .where("at_us", "<=", micros),
  ),
  findTagged: new Query(({ id, tagJson }: Parameters<{ id: string; tagJson: string }>) =>
    builder
      .selectFrom("dataset_tags")
      .select("at_us")
      .where("dataset_id", "=", id)
      .where("tag_json", "=", tagJson),
  ),
  listTags: new Query(({ id, micros }: Parameters<{ id: string; micros: number }>) =>
    builder
      .selectFrom("dataset_tags")
      .select("tag_json")
      .where("dataset_id", "=", id)
      .where("at_us", "=", micros)
      .orderBy("tag_json"),
  ),
  setTag: new Query((row: Parameters<DatasetTables["dataset_tags"]>) =>
    builder
      .insertInto("dataset_tags")
      .values(columnsOf(row, ["tenant_id", "dataset_id", "tag_json", "at_us"]))
      .onConflict((conflict) =>
        // On PostgreSQL, the keys of all tables begin with the tenant.
        conflict
          .expression(
            perEngine<unknown>({
              sqlite: sql`dataset_id, tag_json`,
              postgres: sql`tenant_id, dataset_id, tag_json`,
            }),
          )
          .doUpdateSet({ at_us: row.at_us }),
      ),
  ),
  diff: new Query(({ id, from, to }: Parameters<{ id: string; from: number; to: number }>) =>
    builder
      .selectFrom((eb) =>
        eb
          .selectFrom("examples as e")
          .select([
            "e.id",
            sql<number>`max(${isValidAt(from)})`.as("was_present"),
            sql<number>`max(${isValidAt(to)})`.as("is_present"),
            sql<number>`max(${isValidAt(from)} * ${isValidAt(to)})`.as("is_same"),
            sql<number>`min(e.position)`.as("position"),
          ])
          .where("e.dataset_id", "=", id)
          .where(isWithinTimeLimit("e.key"))
          .groupBy("e.id")
          .as("d"),
      )
      .select(["d.id", "d.was_present", "d.is_present"])
      .where("d.is_same", "=", sql.lit(0))
      .where(sql<boolean>`d.was_present + d.is_present > 0`)
      .orderBy("d.position"),
  ),
};

/**
 * Queries that delete everything that belongs to a dataset. Run them in this order: rows are deleted before the rows
 * that they refer to.
 */
export const datasetDeletions = {
  versions: new Query(({ id }: Parameters<{ id: string }>) =>
    builder.deleteFrom("dataset_versions").where("dataset_id", "=", id),
  ),
  tags: new Query(({ id }: Parameters<{ id: string }>) =>
    builder.deleteFrom("dataset_tags").where("dataset_id", "=", id),
  ),
  files: new Query(({ id }: Parameters<{ id: string }>) =>
    builder.deleteFrom("example_blobs").where("dataset_id", "=", id),
  ),
  examples: new Query(({ id }: Parameters<{ id: string }>) =>
    builder.deleteFrom("examples").where("dataset_id", "=", id),
  ),
  // Comparisons of another tenant may refer to a dataset with the same id. They must stay.
  comparedExperiments: new Query(({ id }: Parameters<{ id: string }>) =>
    builder.deleteFrom("comparative_experiments").where((eb) =>
      eb(
        eb.refTuple("tenant_id", "comparative_id"),
        "in",
        eb
          .selectFrom("comparatives as c")
          .innerJoin("datasets as d", (join) =>
            join.onRef("d.id", "=", "c.dataset_id").onRef("d.tenant_id", "=", "c.tenant_id"),
          )
          .select(["c.tenant_id", "c.id"])
          .where("d.id", "=", id)
          .$asTuple("tenant_id", "id"),
      ),
    ),
  ),
  comparatives: new Query(({ id }: Parameters<{ id: string }>) =>
    builder
      .deleteFrom("comparatives")
      .where("dataset_id", "=", id)
      .where("tenant_id", "=", selectTenant(id)),
  ),
  queueDefaults: new Query(({ id }: Parameters<{ id: string }>) =>
    builder
      .updateTable("annotation_queues")
      .set({ default_dataset_id: null })
      .where("default_dataset_id", "=", id)
      .where("tenant_id", "=", selectTenant(id)),
  ),
  dataset: new Query(({ id }: Parameters<{ id: string }>) =>
    builder.deleteFrom("datasets").where("id", "=", id),
  ),
};

const selectTenant = (id: Expression<string>) =>
  builder.selectFrom("datasets").select("tenant_id").where("id", "=", id);

interface DatasetListValues {
  readonly tenantId: string;
  readonly nameJson?: string | undefined;
  /** A part of the name, escaped as in a JSON string. */
  readonly namePart?: string | undefined;
  /** JSON list of ids. */
  readonly ids?: string | undefined;
  /** JSON list of data types. */
  readonly dataTypes?: string | undefined;
  /** All datasets if omitted. */
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
}

interface DatasetListOptions {
  readonly order: DatasetOrder;
  readonly isDescending: boolean;
}

const orderColumns = {
  name: "d.name_json",
  created_at: "d.created_us",
  last_session_start_time: "last_session_us",
  example_count: "d.example_count",
  session_count: "session_count",
  modified_at: "d.modified_us",
} as const;

/** Lists the datasets of a tenant that meet all conditions that are set. */
export const datasetListQueries = new QueryForms(
  (values: Parameters<DatasetListValues>, { order, isDescending }: DatasetListOptions) => {
    const { nameJson, namePart, ids, dataTypes, limit, offset } = values;
    let list = selectDatasets().where("d.tenant_id", "=", values.tenantId);
    if (nameJson !== undefined) {
      list = list.where("d.name_json", "=", nameJson);
    }
    if (namePart !== undefined) {
      list = list.where((eb) => containsIgnoringCase(eb.ref("d.name_json"), namePart));
    }
    if (ids !== undefined) {
      list = list.where((eb) => isInList(eb.ref("d.id"), ids));
    }
    if (dataTypes !== undefined) {
      list = list.where((eb) => isInList(readJsonMember(eb.ref("d.body"), "dataType"), dataTypes));
    }
    list = list
      .orderBy(orderColumns[order], (column) =>
        (isDescending ? column.desc() : column.asc()).nullsLast(),
      )
      .orderBy("d.created_us", "desc")
      .orderBy("d.id");
    return limit === undefined || offset === undefined ? list : list.limit(limit).offset(offset);
  },
);

interface VersionListValues {
  readonly datasetId: string;
  /** A part of a tag, escaped as in a JSON string. */
  readonly tagPart?: string | undefined;
  /** The time of the newest version, which always has the tag `latest`. Set only if `tagPart` is a part of this tag. */
  readonly latestMicros?: number | undefined;
  readonly exampleId?: string | undefined;
  readonly limit: number;
  readonly offset: number;
}

/** Lists the versions of a dataset that meet all conditions that are set, the newest first. */
export const datasetVersionListQueries = new QueryForms(
  ({
    datasetId,
    tagPart,
    latestMicros,
    exampleId,
    limit,
    offset,
  }: Parameters<VersionListValues>) => {
    let versions = builder
      .selectFrom("dataset_versions as v")
      .select("v.at_us")
      .where("v.dataset_id", "=", datasetId);
    if (tagPart !== undefined) {
      const taggedVersions = builder
        .selectFrom("dataset_tags as t")
        .select("t.at_us")
        .where("t.dataset_id", "=", datasetId)
        .where((eb) => containsIgnoringCase(eb.ref("t.tag_json"), tagPart));
      versions = versions.where((eb) =>
        eb.or([
          eb("v.at_us", "in", taggedVersions),
          ...(latestMicros === undefined ? [] : [eb("v.at_us", "=", latestMicros)]),
        ]),
      );
    }
    if (exampleId !== undefined) {
      const rows = selectRowsOfExample(exampleId).where((eb) =>
        eb(withoutIndex(eb.ref("e.dataset_id")), "=", datasetId),
      );
      versions = versions.where(
        "v.at_us",
        "in",
        rows.select("e.from_us as at_us").union(rows.select(sql<number>`e.to_us`.as("at_us"))),
      );
    }
    return versions.orderBy("v.at_us", "desc").limit(limit).offset(offset);
  },
);

/** A row of a query that selects datasets. */
export type DatasetRow = RowOf<typeof datasetQueries.find>;

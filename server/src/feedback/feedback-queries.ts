import { sql } from "kysely";
import { isInList, isWithinTimeLimit, withoutIndex } from "../storage/dialect.ts";
import { createQueryBuilder, Query, QueryForms } from "../storage/query.ts";
import type { Parameters, RowOf } from "../storage/query.ts";
import type { FeedbackQuery } from "./feedback.ts";

/** Columns that a submitted judgement (score, value, comment, correction) fills. */
export interface JudgementColumns {
  /** The score as a number, for statistics: 1 and 0 for true and false. */
  readonly score: number | null;
  readonly score_json: string | null;
  readonly value_json: string | null;
  readonly comment_json: string | null;
  readonly correction_json: string | null;
  readonly config_json: string | null;
}

export interface FeedbackTable extends JudgementColumns {
  readonly tenant_id: string;
  readonly id: string;
  readonly run_id: string | null;
  readonly project_id: string | null;
  readonly comparative_id: string | null;
  readonly key_json: string;
  readonly extra_json: string | null;
  readonly source_type_json: string;
  readonly source_metadata_json: string | null;
  readonly created_us: number;
  readonly modified_us: number;
  /** Digest of the submitted feedback, by which a repeated submission is recognized. */
  readonly digest: string;
}

interface FeedbackTokenTable {
  readonly digest: string;
  readonly sealed: string;
  readonly tenant_id: string;
  readonly id: string;
  readonly run_id: string;
  readonly key_json: string;
  readonly config_json: string | null;
  readonly created_us: number;
  readonly expires_us: number;
}

interface FeedbackTables {
  readonly feedback: FeedbackTable;
  readonly feedback_tokens: FeedbackTokenTable;
  /** This table and the following ones list only the columns that queries of feedback use. */
  readonly projects: { readonly id: string; readonly tenant_id: string };
  readonly comparatives: { readonly id: string; readonly tenant_id: string };
  readonly runs: {
    readonly id: string;
    readonly project_id: string;
    readonly trace_id: string;
    readonly parent_run_id: string | null;
    readonly start_us: number;
  };
}

const builder = createQueryBuilder<FeedbackTables>();

/**
 * Feedback `f` joined with its run `r`, if the run was received and belongs to the same tenant; `p` is the project of
 * the run.
 */
const joinedFeedback = builder
  .selectFrom("feedback as f")
  .leftJoin("runs as r", "r.id", "f.run_id")
  .leftJoin("projects as p", (join) =>
    join.onRef("p.id", "=", "r.project_id").onRef("p.tenant_id", "=", "f.tenant_id"),
  );

/** Selects the columns that {@link parseFeedbackRow} parses. */
const feedbackSelection = joinedFeedback.select([
  "f.id",
  "f.run_id",
  "f.project_id",
  "f.comparative_id",
  "f.key_json",
  "f.score_json",
  "f.value_json",
  "f.comment_json",
  "f.correction_json",
  "f.config_json",
  "f.extra_json",
  "f.source_type_json",
  "f.source_metadata_json",
  "f.created_us",
  "f.modified_us",
  "p.id as run_project_id",
  "r.trace_id",
  "r.start_us",
  "r.parent_run_id",
]);

/** Maximum length, as JSON text, of a feedback value that statistics treat as a category. Longer values are prose. */
const maxValueChars = 256;

/** SQL for the value of feedback; NULL if it is too long for a category. */
export const categoryColumn = `CASE WHEN length(f.value_json) <= ${maxValueChars} THEN f.value_json END`;

/** Selects the sums for each combination of group, key and category. {@link aggregateStats} combines these rows. */
const selectSums = (groupColumn: string) =>
  [
    sql.ref<string>(groupColumn).as("group_id"),
    sql.ref<string>("f.key_json").as("key_json"),
    sql.raw<string | null>(categoryColumn).as("category"),
    sql<number>`count(*)`.as("n"),
    sql<number>`count(f.score)`.as("scored"),
    sql<number | null>`sum(f.score)`.as("sum"),
  ] as const;
const groupByColumns = sql`1, 2, 3`;

type StatsQueryValues = { readonly tenantId: string; readonly idsJson: string };

const sumByColumn = (
  column: "f.run_id" | "f.project_id" | "f.comparative_id",
  { tenantId, idsJson }: Parameters<StatsQueryValues>,
) =>
  builder
    .selectFrom("feedback as f")
    .select(selectSums(column))
    .where((eb) => isInList(eb.ref(column), idsJson))
    .where((eb) => eb(withoutIndex(eb.ref("f.tenant_id")), "=", tenantId))
    .groupBy(groupByColumns)
    .orderBy(groupByColumns);

interface TrendValues {
  readonly tenantId: string;
  readonly projectId: string;
  readonly fromMicros: number;
  readonly toMicros: number;
  readonly limit: number;
}

/** The queries of feedback, and of the tokens with which it can be submitted. */
export const feedbackQueries = {
  find: new Query(({ tenantId, id }: Parameters<{ tenantId: string; id: string }>) =>
    feedbackSelection.where("f.tenant_id", "=", tenantId).where("f.id", "=", id),
  ),
  readDigest: new Query(({ tenantId, id }: Parameters<{ tenantId: string; id: string }>) =>
    builder
      .selectFrom("feedback")
      .select("digest")
      .where("tenant_id", "=", tenantId)
      .where("id", "=", id),
  ),
  insert: new Query((row: Parameters<FeedbackTable>) =>
    builder.insertInto("feedback").values({
      tenant_id: row.tenant_id,
      id: row.id,
      run_id: row.run_id,
      project_id: row.project_id,
      comparative_id: row.comparative_id,
      key_json: row.key_json,
      ...listJudgementColumns(row),
      extra_json: row.extra_json,
      source_type_json: row.source_type_json,
      source_metadata_json: row.source_metadata_json,
      created_us: row.created_us,
      modified_us: row.modified_us,
      digest: row.digest,
    }),
  ),
  update: new Query(
    (row: Parameters<JudgementColumns & Pick<FeedbackTable, "tenant_id" | "id" | "modified_us">>) =>
      builder
        .updateTable("feedback")
        .set({ ...listJudgementColumns(row), modified_us: row.modified_us })
        .where("tenant_id", "=", row.tenant_id)
        .where("id", "=", row.id),
  ),
  delete: new Query(({ tenantId, id }: Parameters<{ tenantId: string; id: string }>) =>
    builder.deleteFrom("feedback").where("tenant_id", "=", tenantId).where("id", "=", id),
  ),
  findProject: new Query(({ tenantId, id }: Parameters<{ tenantId: string; id: string }>) =>
    builder
      .selectFrom("projects")
      .select("id")
      .where("tenant_id", "=", tenantId)
      .where("id", "=", id),
  ),
  findComparative: new Query(({ tenantId, id }: Parameters<{ tenantId: string; id: string }>) =>
    builder
      .selectFrom("comparatives")
      .select("id")
      .where("tenant_id", "=", tenantId)
      .where("id", "=", id),
  ),
  sumByRun: new Query((values: Parameters<StatsQueryValues>) => sumByColumn("f.run_id", values)),
  sumByComparedRun: new Query(
    (values: Parameters<StatsQueryValues & { readonly comparativeId: string }>) =>
      sumByColumn("f.run_id", values).where((eb) =>
        eb(withoutIndex(eb.ref("f.comparative_id")), "=", values.comparativeId),
      ),
  ),
  sumByProject: new Query((values: Parameters<StatsQueryValues>) =>
    sumByColumn("f.project_id", values).where("f.run_id", "is", null),
  ),
  sumByComparative: new Query((values: Parameters<StatsQueryValues>) =>
    sumByColumn("f.comparative_id", values),
  ),
  // CROSS JOIN makes SQLite read the tables in this order: there is less feedback than there are runs.
  sumByProjectOfRun: new Query(({ tenantId, idsJson }: Parameters<StatsQueryValues>) =>
    builder
      .selectFrom("feedback as f")
      .crossJoin("runs as r")
      .innerJoin("projects as p", "p.id", "r.project_id")
      .select(selectSums("r.project_id"))
      .whereRef("r.id", "=", "f.run_id")
      .where("f.tenant_id", "=", tenantId)
      .where(isWithinTimeLimit("f.created_us"))
      .where("p.tenant_id", "=", tenantId)
      .where((eb) => isInList(eb.ref("p.id"), idsJson))
      .groupBy(groupByColumns)
      .orderBy(groupByColumns),
  ),
  // Reads the feedback of all projects of the tenant, so that the limit bounds the number of rows that are read. The
  // column `is_of_project` marks the feedback on the requested project.
  trend: new Query(
    ({ tenantId, projectId, fromMicros, toMicros, limit }: Parameters<TrendValues>) =>
      joinedFeedback
        .select([
          "f.key_json",
          "f.created_us",
          "f.score",
          sql.raw<string | null>(categoryColumn).as("category"),
          sql<number>`CASE WHEN coalesce(p.id, f.project_id) = ${projectId} THEN 1 ELSE 0 END`.as(
            "is_of_project",
          ),
        ])
        .where("f.tenant_id", "=", tenantId)
        .where(isWithinTimeLimit("f.created_us"))
        .where("f.created_us", ">=", fromMicros)
        .where("f.created_us", "<", toMicros)
        .orderBy("f.created_us", "desc")
        .orderBy("f.id", "desc")
        .limit(limit),
  ),
  insertToken: new Query((row: Parameters<FeedbackTokenTable>) =>
    builder.insertInto("feedback_tokens").values({
      digest: row.digest,
      sealed: row.sealed,
      tenant_id: row.tenant_id,
      id: row.id,
      run_id: row.run_id,
      key_json: row.key_json,
      config_json: row.config_json,
      created_us: row.created_us,
      expires_us: row.expires_us,
    }),
  ),
  findToken: new Query(({ digest }: Parameters<{ digest: string }>) =>
    selectTokens().where("digest", "=", digest),
  ),
  listTokens: new Query(({ tenantId, runId }: Parameters<{ tenantId: string; runId: string }>) =>
    selectTokens()
      .where("tenant_id", "=", tenantId)
      .where("run_id", "=", runId)
      .orderBy("created_us")
      .orderBy("id"),
  ),
};

interface ListValues {
  readonly tenantId: string;
  readonly limit: number;
  readonly offset: number;
  /** JSON array of ids. The other lists, `projectIds`, `keys` and `sourceTypes`, are JSON arrays, too. */
  readonly runIds?: string | undefined;
  readonly projectIds?: string | undefined;
  readonly keys?: string | undefined;
  readonly sourceTypes?: string | undefined;
  readonly comparativeId?: string | undefined;
  readonly minCreatedMicros?: number | undefined;
  readonly maxCreatedMicros?: number | undefined;
}

type ListOptions = {
  readonly [Name in "level" | "hasScore" | "hasComment"]: FeedbackQuery[Name] | undefined;
};

/** Lists a tenant's feedback, the latest first. The feedback must meet all filters that are set. */
export const feedbackLists = new QueryForms(
  (values: Parameters<ListValues>, options: ListOptions) => {
    const { runIds, projectIds, keys, sourceTypes, comparativeId } = values;
    const { minCreatedMicros, maxCreatedMicros } = values;
    const { level, hasScore, hasComment } = options;
    // If the query names runs or a comparison, the index on these selects fewer rows than the index on the tenant.
    const hasBetterIndex = runIds !== undefined || comparativeId !== undefined;
    let list = feedbackSelection.where((eb) =>
      eb(
        hasBetterIndex ? withoutIndex(eb.ref("f.tenant_id")) : eb.ref("f.tenant_id"),
        "=",
        values.tenantId,
      ),
    );
    if (runIds !== undefined) {
      list = list.where((eb) => isInList(eb.ref("f.run_id"), runIds));
    }
    if (projectIds !== undefined) {
      // The project of the run if the run was received, otherwise the project that the client has named.
      list = list.where(isInList(sql<string | null>`coalesce(p.id, f.project_id)`, projectIds));
    }
    if (keys !== undefined) {
      list = list.where((eb) => isInList(eb.ref("f.key_json"), keys));
    }
    if (sourceTypes !== undefined) {
      list = list.where((eb) => isInList(eb.ref("f.source_type_json"), sourceTypes));
    }
    if (level !== undefined) {
      list = list.where("f.run_id", toNullOperator(level === "run"), null);
    }
    if (hasScore !== undefined) {
      list = list.where("f.score_json", toNullOperator(hasScore), null);
    }
    if (hasComment !== undefined) {
      list = list.where("f.comment_json", toNullOperator(hasComment), null);
    }
    if (comparativeId !== undefined) {
      list = list.where("f.comparative_id", "=", comparativeId);
    }
    if (minCreatedMicros !== undefined) {
      list = list.where("f.created_us", ">=", minCreatedMicros);
    }
    if (maxCreatedMicros !== undefined) {
      list = list.where("f.created_us", "<=", maxCreatedMicros);
    }
    return list
      .orderBy("f.created_us", "desc")
      .orderBy("f.id", "desc")
      .limit(values.limit)
      .offset(values.offset);
  },
);

const toNullOperator = (mustBePresent: boolean) => (mustBePresent ? "is not" : "is");

const selectTokens = () =>
  builder
    .selectFrom("feedback_tokens")
    .select(["sealed", "tenant_id", "id", "run_id", "key_json", "config_json", "expires_us"]);

/**
 * Reads each column by its name, because `row` is a proxy, which creates a column's SQL parameter only when the column
 * is read.
 */
const listJudgementColumns = (row: Parameters<JudgementColumns>) => ({
  score: row.score,
  score_json: row.score_json,
  value_json: row.value_json,
  comment_json: row.comment_json,
  correction_json: row.correction_json,
  config_json: row.config_json,
});

/** A row of a query that selects feedback. */
export type FeedbackRow = RowOf<typeof feedbackQueries.find>;
/** A row with the sums for one combination of group, key and category. */
export type SumRow = RowOf<typeof feedbackQueries.sumByRun>;
/** A row of a query that selects a token for giving feedback. */
export type TokenRow = RowOf<typeof feedbackQueries.findToken>;

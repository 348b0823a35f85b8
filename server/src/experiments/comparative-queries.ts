import type { Expression } from "kysely";
import { aggregateListsToJson } from "../storage/dialect.ts";
import { createQueryBuilder, Query } from "../storage/query.ts";
import type { Parameters, RowOf } from "../storage/query.ts";
import type { Comparative } from "./comparative.ts";

interface ComparativeTable {
  readonly tenant_id: string;
  readonly id: string;
  readonly dataset_id: string;
  readonly name_json: string | null;
  readonly description_json: string | null;
  readonly extra_json: string | null;
  readonly created_us: number;
  readonly modified_us: number;
  readonly digest: string;
}

interface ComparedExperimentTable {
  readonly tenant_id: string;
  readonly comparative_id: string;
  readonly position: number;
  readonly project_id: string;
}

interface ComparativeTables {
  readonly comparatives: ComparativeTable;
  readonly comparative_experiments: ComparedExperimentTable;
  /** The columns of projects that these queries use. An experiment is a project. */
  readonly projects: {
    readonly id: string;
    readonly tenant_id: string;
    readonly name_json: string;
    readonly reference_dataset_id: string | null;
  };
}

const builder = createQueryBuilder<ComparativeTables>();

/** Selects comparisons `c`, each with its experiments that still exist. */
export const selectComparatives = (tenantId: Expression<string> | string) =>
  builder
    .selectFrom("comparatives as c")
    .select([
      "c.id",
      "c.tenant_id",
      "c.dataset_id",
      "c.name_json",
      "c.description_json",
      "c.extra_json",
      "c.created_us",
      "c.modified_us",
    ])
    .select((comparative) =>
      comparative
        .selectFrom("comparative_experiments as e")
        .innerJoin("projects as p", (join) =>
          join.onRef("p.id", "=", "e.project_id").onRef("p.tenant_id", "=", "e.tenant_id"),
        )
        .select((eb) =>
          aggregateListsToJson([eb.ref("p.id"), eb.ref("p.name_json")], eb.ref("e.position")).as(
            "experiments",
          ),
        )
        .whereRef("e.tenant_id", "=", "c.tenant_id")
        .whereRef("e.comparative_id", "=", "c.id")
        .as("experiments_json"),
    )
    .where("c.tenant_id", "=", tenantId);

type TenantAndId = Parameters<{ tenantId: string; id: string }>;

/** The queries of stored comparisons between experiments. */
export const comparativeQueries = {
  find: new Query(({ tenantId, id }: TenantAndId) =>
    selectComparatives(tenantId).where("c.id", "=", id),
  ),
  readDigest: new Query(({ tenantId, id }: TenantAndId) =>
    builder
      .selectFrom("comparatives")
      .select("digest")
      .where("tenant_id", "=", tenantId)
      .where("id", "=", id),
  ),
  insert: new Query((row: Parameters<ComparativeTable>) =>
    builder.insertInto("comparatives").values({
      tenant_id: row.tenant_id,
      id: row.id,
      dataset_id: row.dataset_id,
      name_json: row.name_json,
      description_json: row.description_json,
      extra_json: row.extra_json,
      created_us: row.created_us,
      modified_us: row.modified_us,
      digest: row.digest,
    }),
  ),
  insertExperiment: new Query((row: Parameters<ComparedExperimentTable>) =>
    builder.insertInto("comparative_experiments").values({
      tenant_id: row.tenant_id,
      comparative_id: row.comparative_id,
      position: row.position,
      project_id: row.project_id,
    }),
  ),
  findDatasetOfProject: new Query(({ tenantId, id }: TenantAndId) =>
    builder
      .selectFrom("projects")
      .select("reference_dataset_id")
      .where("tenant_id", "=", tenantId)
      .where("id", "=", id),
  ),
};

/** Converts a row to a stored comparison. */
export const parseComparativeRow = (row: RowOf<typeof comparativeQueries.find>): Comparative => ({
  id: row.id,
  tenantId: row.tenant_id,
  datasetId: row.dataset_id,
  name: parseOptionalJson(row.name_json) as string | null,
  description: parseOptionalJson(row.description_json) as string | null,
  extra: parseOptionalJson(row.extra_json) as Comparative["extra"],
  createdMicros: row.created_us,
  modifiedMicros: row.modified_us,
  experiments: (JSON.parse(row.experiments_json ?? "[]") as readonly [string, string][]).map(
    ([id, nameJson]) => ({ id, name: String(JSON.parse(nameJson)) }),
  ),
});

const parseOptionalJson = (json: string | null): unknown =>
  json === null ? null : JSON.parse(json);

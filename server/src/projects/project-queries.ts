import { containsIgnoringCase, isInList } from "../storage/dialect.ts";
import { createQueryBuilder, Query, QueryForms } from "../storage/query.ts";
import type { Parameters } from "../storage/query.ts";
import type { ProjectQuery } from "./project.ts";

/**
 * The columns of a project. Texts from clients are stored as JSON, because no engine's text type can store every text:
 * SQLite can't store lone surrogates, and PostgreSQL can store neither lone surrogates nor NUL.
 */
interface ProjectTable {
  readonly id: string;
  readonly tenant_id: string;
  readonly name_json: string;
  readonly start_us: number;
  readonly end_us: number | null;
  readonly description_json: string | null;
  readonly extra_json: string | null;
  readonly reference_dataset_id: string | null;
}

interface ProjectTables {
  readonly projects: ProjectTable;
}

export type ProjectRow = ProjectTable;

const projectBuilder = createQueryBuilder<ProjectTables>();

export const projectQueries = {
  find: new Query(({ id, tenantId }: Parameters<{ id: string; tenantId: string }>) =>
    projectBuilder
      .selectFrom("projects")
      .selectAll()
      .where("id", "=", id)
      .where("tenant_id", "=", tenantId),
  ),
  findByName: new Query(
    ({ tenantId, nameJson }: Parameters<{ tenantId: string; nameJson: string }>) =>
      projectBuilder
        .selectFrom("projects")
        .select("id")
        .where("tenant_id", "=", tenantId)
        .where("name_json", "=", nameJson),
  ),
  findTenant: new Query(({ id }: Parameters<{ id: string }>) =>
    projectBuilder.selectFrom("projects").select("tenant_id").where("id", "=", id),
  ),
  insert: new Query((row: Parameters<ProjectRow>) =>
    projectBuilder
      .insertInto("projects")
      .values({ id: row.id, tenant_id: row.tenant_id, ...listChangeableColumns(row) }),
  ),
  update: new Query((row: Parameters<ProjectRow>) =>
    projectBuilder.updateTable("projects").set(listChangeableColumns(row)).where("id", "=", row.id),
  ),
};

/**
 * Reads each column by its name, because `row` is a proxy, which creates a column's SQL parameter only when the column
 * is read.
 */
const listChangeableColumns = (row: Parameters<ProjectRow>) => ({
  name_json: row.name_json,
  start_us: row.start_us,
  end_us: row.end_us,
  description_json: row.description_json,
  extra_json: row.extra_json,
  reference_dataset_id: row.reference_dataset_id,
});

interface ListValues {
  readonly tenantId: string;
  readonly nameJson?: string | undefined;
  /** A part of the name, escaped as in JSON but without quotes, to search for in `name_json`. */
  readonly namePart?: string | undefined;
  /** JSON array of ids. `referenceDatasetIds` is one, too. */
  readonly ids?: string | undefined;
  readonly referenceDatasetIds?: string | undefined;
  /** Without a limit all projects are listed. */
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
}

type ListOptions = Required<Pick<ProjectQuery, "sortBy" | "isDescending">> & {
  readonly isReferenceFree: boolean | undefined;
};

/** Lists a tenant's projects that meet all filters that are set. */
export const projectLists = new QueryForms(
  (values: Parameters<ListValues>, { sortBy, isDescending, isReferenceFree }: ListOptions) => {
    const { nameJson, namePart, ids, referenceDatasetIds, limit, offset } = values;
    const direction = isDescending ? "desc" : "asc";
    let list = projectBuilder
      .selectFrom("projects")
      .selectAll()
      .where("tenant_id", "=", values.tenantId);
    if (nameJson !== undefined) {
      list = list.where("name_json", "=", nameJson);
    }
    if (namePart !== undefined) {
      list = list.where((eb) => containsIgnoringCase(eb.ref("name_json"), namePart));
    }
    if (ids !== undefined) {
      list = list.where((eb) => isInList(eb.ref("id"), ids));
    }
    if (referenceDatasetIds !== undefined) {
      list = list.where((eb) => isInList(eb.ref("reference_dataset_id"), referenceDatasetIds));
    }
    if (isReferenceFree !== undefined) {
      list = list.where("reference_dataset_id", isReferenceFree ? "is" : "is not", null);
    }
    list =
      sortBy === "name"
        ? list.orderBy("name_json", direction)
        : list.orderBy("start_us", direction).orderBy("id", direction);
    return limit === undefined || offset === undefined ? list : list.limit(limit).offset(offset);
  },
);

import { hasMetadata } from "./project.ts";
import type { Project, ProjectQuery, ProjectReads } from "./project.ts";
import { parseProjectRow } from "./project-row.ts";
import { projectQueries, projectBuilder } from "./project-queries.ts";
import { containsIgnoringCase, isInList } from "../storage/dialect.ts";
import type { Database } from "../storage/query.ts";

/** Queries projects. */
export class ProjectReader implements ProjectReads {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async find(tenantId: string, id: string): Promise<Project | undefined> {
    const row = await this.#db.first(projectQueries.find, { id, tenantId });
    return row === undefined ? undefined : parseProjectRow(row);
  }

  /** Metadata is compared in JavaScript instead of SQL, because the order of members must not matter. */
  async list(tenantId: string, query: ProjectQuery): Promise<readonly Project[]> {
    const { metadata, limit, offset } = query;
    const listQuery = buildList(tenantId, query);
    const rows = await this.#db.all(
      metadata === undefined ? listQuery.limit(limit).offset(offset) : listQuery,
    );
    const projects = rows.map(parseProjectRow);
    return metadata === undefined
      ? projects
      : projects.filter((project) => hasMetadata(project, metadata)).slice(offset, offset + limit);
  }
}

function buildList(tenantId: string, query: ProjectQuery) {
  const { name, nameContains, ids, referenceDatasetIds, isReferenceFree } = query;
  const { sortBy = "name", isDescending = false } = query;
  const direction = isDescending ? "desc" : "asc";
  let list = projectBuilder.selectFrom("projects").selectAll().where("tenant_id", "=", tenantId);
  if (name !== undefined) {
    list = list.where("name_json", "=", JSON.stringify(name));
  }
  if (nameContains !== undefined) {
    const part = JSON.stringify(nameContains).slice(1, -1);
    list = list.where((eb) => containsIgnoringCase(eb.ref("name_json"), part));
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
  return sortBy === "name"
    ? list.orderBy("name_json", direction)
    : list.orderBy("start_us", direction).orderBy("id", direction);
}

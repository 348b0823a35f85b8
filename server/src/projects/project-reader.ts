import { hasMetadata } from "./project.ts";
import type { Project, ProjectQuery, ProjectReads } from "./project.ts";
import { parseProjectRow, projectColumns } from "./project-row.ts";
import { parseRows } from "../storage/sqlite/rows.ts";
import type { Connection } from "../storage/sqlite/connection.ts";

/** Queries projects. */
export class ProjectReader implements ProjectReads {
  readonly #lists;
  readonly #find;

  constructor(db: Connection) {
    this.#find = db
      .prepare(`SELECT ${projectColumns} FROM projects WHERE id = ? AND tenant_id = ?`)
      .raw();
    const list = (order: string) =>
      db
        .prepare(
          `SELECT ${projectColumns} FROM projects
         WHERE (?1 IS NULL OR name_json = ?1) AND (?2 IS NULL OR instr(lower(name_json), lower(?2)) > 0)
           AND (?3 IS NULL OR id IN (SELECT value FROM json_each(?3)))
           AND (?4 IS NULL OR reference_dataset_id IN (SELECT value FROM json_each(?4)))
           AND (?5 IS NULL OR (reference_dataset_id IS NULL) = ?5) AND tenant_id = ?8
         ORDER BY ${order} LIMIT ?6 OFFSET ?7`,
        )
        .raw();
    this.#lists = {
      name: { ascending: list("name_json"), descending: list("name_json DESC") },
      start_time: { ascending: list("start_us, id"), descending: list("start_us DESC, id DESC") },
    };
  }

  find(tenantId: string, id: string): Project | undefined {
    const [values] = parseRows(this.#find.all([id, tenantId]));
    return values === undefined ? undefined : parseProjectRow(values);
  }

  /** Metadata is compared in JavaScript, not in SQL: as values, regardless of the order of members. */
  list(tenantId: string, query: ProjectQuery): readonly Project[] {
    const { name, nameContains, ids, referenceDatasetIds, isReferenceFree, metadata } = query;
    const { limit, offset, sortBy = "name", isDescending = false } = query;
    const rows = this.#lists[sortBy][isDescending ? "descending" : "ascending"].all([
      name === undefined ? null : JSON.stringify(name),
      nameContains === undefined ? null : JSON.stringify(nameContains).slice(1, -1),
      ids === undefined ? null : JSON.stringify(ids),
      referenceDatasetIds === undefined ? null : JSON.stringify(referenceDatasetIds),
      isReferenceFree === undefined ? null : Number(isReferenceFree),
      metadata === undefined ? limit : -1,
      metadata === undefined ? offset : 0,
      tenantId,
    ]);
    const projects = parseRows(rows).map(parseProjectRow);
    return metadata === undefined
      ? projects
      : projects.filter((project) => hasMetadata(project, metadata)).slice(offset, offset + limit);
  }
}

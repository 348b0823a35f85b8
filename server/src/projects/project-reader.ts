import { hasMetadata } from "./project.ts";
import type { Project, ProjectQuery, ProjectReads } from "./project.ts";
import { parseProjectRow } from "./project-row.ts";
import { projectLists, projectQueries } from "./project-queries.ts";
import { escapeJsonPart } from "../storage/dialect.ts";
import type { Database } from "../storage/query.ts";

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
    const { metadata, limit, offset, isReferenceFree } = query;
    const { name, nameContains, ids, referenceDatasetIds } = query;
    const { sortBy = "name", isDescending = false } = query;
    const values = {
      tenantId,
      nameJson: name === undefined ? undefined : JSON.stringify(name),
      namePart: nameContains === undefined ? undefined : escapeJsonPart(nameContains),
      ids: ids && JSON.stringify(ids),
      referenceDatasetIds: referenceDatasetIds && JSON.stringify(referenceDatasetIds),
      ...(metadata === undefined ? { limit, offset } : {}),
    };
    const list = projectLists.select(values, { sortBy, isDescending, isReferenceFree });
    const rows = await this.#db.all(list, values);
    const projects = rows.map(parseProjectRow);
    return metadata === undefined
      ? projects
      : projects.filter((project) => hasMetadata(project, metadata)).slice(offset, offset + limit);
  }
}

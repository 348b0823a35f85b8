import { randomUUID } from "node:crypto";
import { runFields } from "../filter/fields.ts";
import { readSavedFilter } from "../filter/filter-parameter.ts";
import { RequestError } from "../model/errors.ts";
import { projectQueries } from "../projects/project-queries.ts";
import { createQueryBuilder, Query } from "../storage/query.ts";
import type { Database, Parameters } from "../storage/query.ts";

/** Identifies a view of a tenant. */
export interface ViewKey {
  readonly projectId: string;
  readonly id: string;
}

/** A saved filter of a project's runs. */
export interface View extends ViewKey {
  readonly name: string;
  readonly fields: ViewFields;
  readonly createdMicros: number;
  readonly modifiedMicros: number;
}

/** The fields of a view other than its name. The filters are texts of the filter language. */
export interface ViewFields {
  readonly description: string | null;
  readonly filter: string | null;
  readonly traceFilter: string | null;
  readonly treeFilter: string | null;
  /** The state of the UI's list other than the filter, such as its time range and order, as the query of a URL. */
  readonly listQuery: string | null;
}

/** A view that is to be created. */
export interface ViewDraft {
  readonly name: string;
  readonly fields: ViewFields;
}

/** The fields to change. An absent field keeps its value. */
export interface ViewChanges {
  readonly name?: string;
  readonly fields: Partial<ViewFields>;
}

/** Which part of a list to return: at most `limit` views, after the first `offset` ones. */
export interface ViewPageRange {
  readonly limit: number;
  readonly offset: number;
}

export interface ViewReads {
  /**
   * Lists the views of a project, ordered by name.
   *
   * @throws RequestError 404: the project does not exist.
   */
  list(tenantId: string, projectId: string, page: ViewPageRange): Promise<readonly View[]>;
  /**
   * Finds a view.
   *
   * @throws RequestError 404: the view does not exist.
   */
  find(tenantId: string, key: ViewKey): Promise<View>;
}

export interface ViewWrites {
  /**
   * Creates a view.
   *
   * @throws RequestError 404: the project does not exist.
   */
  create(tenantId: string, projectId: string, draft: ViewDraft): Promise<View>;
  /**
   * Changes a view.
   *
   * @throws RequestError 404: the view does not exist.
   */
  update(tenantId: string, key: ViewKey, changes: ViewChanges): Promise<View>;
  /**
   * Deletes a view.
   *
   * @throws RequestError 404: the view does not exist.
   */
  delete(tenantId: string, key: ViewKey): Promise<void>;
}

/**
 * SQL that creates the table of views. `fields_json` is the JSON of {@link ViewFields}. The trigger deletes the views
 * of a deleted project.
 */
export const viewTables = `
  CREATE TABLE views (
    tenant_id TEXT NOT NULL, project_id TEXT NOT NULL, id TEXT NOT NULL, name_json TEXT NOT NULL,
    fields_json TEXT NOT NULL, created_us INTEGER NOT NULL, modified_us INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, project_id, id)
  ) WITHOUT ROWID;
  CREATE TRIGGER views_of_projects AFTER DELETE ON projects BEGIN
    DELETE FROM views WHERE tenant_id = old.tenant_id AND project_id = old.id;
  END;
`;

interface ViewRow {
  readonly tenant_id: string;
  readonly project_id: string;
  readonly id: string;
  readonly name_json: string;
  readonly fields_json: string;
  readonly created_us: number;
  readonly modified_us: number;
}

interface StoredKey extends ViewKey {
  readonly tenantId: string;
}

const builder = createQueryBuilder<{ readonly views: ViewRow }>();

export const viewQueries = {
  find: new Query(({ tenantId, projectId, id }: Parameters<StoredKey>) =>
    builder
      .selectFrom("views")
      .selectAll()
      .where("tenant_id", "=", tenantId)
      .where("project_id", "=", projectId)
      .where("id", "=", id),
  ),
  list: new Query(
    ({ tenantId, projectId, limit, offset }: Parameters<Omit<StoredKey, "id"> & ViewPageRange>) =>
      builder
        .selectFrom("views")
        .selectAll()
        .where("tenant_id", "=", tenantId)
        .where("project_id", "=", projectId)
        .orderBy("name_json")
        .orderBy("id")
        .limit(limit)
        .offset(offset),
  ),
  insert: new Query((row: Parameters<ViewRow>) =>
    builder.insertInto("views").values({
      tenant_id: row.tenant_id,
      project_id: row.project_id,
      id: row.id,
      name_json: row.name_json,
      fields_json: row.fields_json,
      created_us: row.created_us,
      modified_us: row.modified_us,
    }),
  ),
  update: new Query((row: Parameters<Omit<ViewRow, "created_us">>) =>
    builder
      .updateTable("views")
      .set({
        name_json: row.name_json,
        fields_json: row.fields_json,
        modified_us: row.modified_us,
      })
      .where("tenant_id", "=", row.tenant_id)
      .where("project_id", "=", row.project_id)
      .where("id", "=", row.id),
  ),
  delete: new Query(({ tenantId, projectId, id }: Parameters<StoredKey>) =>
    builder
      .deleteFrom("views")
      .where("tenant_id", "=", tenantId)
      .where("project_id", "=", projectId)
      .where("id", "=", id),
  ),
};

/** Reads and writes views. */
export class ViewRepository implements ViewReads, ViewWrites {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async list(tenantId: string, projectId: string, page: ViewPageRange): Promise<readonly View[]> {
    await this.#assertProject(tenantId, projectId);
    const rows = await this.#db.all(viewQueries.list, { tenantId, projectId, ...page });
    return rows.map(parseRow);
  }

  async find(tenantId: string, { projectId, id }: ViewKey): Promise<View> {
    const row = await this.#db.first(viewQueries.find, { tenantId, projectId, id });
    if (row === undefined) {
      throw new RequestError(404, "View not found");
    }
    return parseRow(row);
  }

  async create(tenantId: string, projectId: string, draft: ViewDraft): Promise<View> {
    await this.#assertProject(tenantId, projectId);
    const nowMicros = Date.now() * 1_000;
    const view = {
      ...draft,
      id: randomUUID(),
      projectId,
      createdMicros: nowMicros,
      modifiedMicros: nowMicros,
    };
    await this.#db.run(viewQueries.insert, toRow(tenantId, view));
    return view;
  }

  async update(tenantId: string, key: ViewKey, { name, fields }: ViewChanges): Promise<View> {
    const view = await this.find(tenantId, key);
    const changedView = {
      ...view,
      name: name ?? view.name,
      fields: { ...view.fields, ...fields },
      modifiedMicros: Date.now() * 1_000,
    };
    await this.#db.run(viewQueries.update, toRow(tenantId, changedView));
    return changedView;
  }

  async delete(tenantId: string, { projectId, id }: ViewKey): Promise<void> {
    if ((await this.#db.run(viewQueries.delete, { tenantId, projectId, id })) === 0) {
      throw new RequestError(404, "View not found");
    }
  }

  async #assertProject(tenantId: string, projectId: string): Promise<void> {
    const project = await this.#db.first(projectQueries.find, { tenantId, id: projectId });
    if (project === undefined) {
      throw new RequestError(404, "Session not found");
    }
  }
}

const toRow = (tenantId: string, view: View): ViewRow => ({
  tenant_id: tenantId,
  project_id: view.projectId,
  id: view.id,
  name_json: JSON.stringify(view.name),
  fields_json: JSON.stringify(view.fields),
  created_us: view.createdMicros,
  modified_us: view.modifiedMicros,
});

/** The fields as any version has stored them: earlier ones stored no `listQuery`. */
type StoredFields = Omit<ViewFields, "listQuery"> & Partial<Pick<ViewFields, "listQuery">>;

function parseRow(row: ViewRow): View {
  const fields = JSON.parse(row.fields_json) as StoredFields;
  return {
    id: row.id,
    projectId: row.project_id,
    name: JSON.parse(row.name_json) as string,
    fields: {
      listQuery: null,
      ...fields,
      filter: readSavedFilter(runFields, fields.filter),
      traceFilter: readSavedFilter(runFields, fields.traceFilter),
      treeFilter: readSavedFilter(runFields, fields.treeFilter),
    },
    createdMicros: row.created_us,
    modifiedMicros: row.modified_us,
  };
}

import { RequestError } from "../model/errors.ts";
import type { LongWrite, WithLongWrites } from "../storage/long-write.ts";
import type { Database } from "../storage/query.ts";
import { toIds } from "../storage/row-keys.ts";
import type { RowKeys } from "../storage/row-keys.ts";
import { changeProject, createProjectFromDraft } from "./project.ts";
import type {
  Project,
  ProjectChanges,
  ProjectDraft,
  ProjectRuns,
  ProjectWrites,
} from "./project.ts";
import { parseProjectRow, toProjectRow } from "./project-row.ts";
import { projectQueries } from "./project-queries.ts";

/**
 * {@link ProjectWrites} as the writer thread calls it: deletions return a {@link LongWrite}, which is performed in
 * slices between which other writes run.
 */
export type ProjectWriteSteps = WithLongWrites<ProjectWrites, "delete" | "deleteMany">;

export class ProjectWriter implements ProjectWriteSteps {
  readonly #db: Database;
  readonly #keys: RowKeys;
  readonly #runs: ProjectRuns;

  constructor(db: Database, keys: RowKeys, runs: ProjectRuns) {
    this.#db = db;
    this.#keys = keys;
    this.#runs = runs;
  }

  async create(tenantId: string, draft: ProjectDraft): Promise<Project> {
    const existingId = await this.#findByName(tenantId, draft.name);
    if (existingId !== undefined) {
      if (draft.upsert) {
        return this.update(tenantId, existingId, draft);
      }
      throw createConflictError("name");
    }
    const key = await this.#keys.keyOf("project", tenantId, draft.id);
    const owner = await this.#db.first(projectQueries.findTenant, { id: key });
    if (owner?.tenant_id === tenantId) {
      throw createConflictError("id");
    }
    const id =
      owner === undefined
        ? key
        : await this.#keys.assignQualifiedKey("project", tenantId, draft.id);
    const project = { ...createProjectFromDraft(draft, tenantId), id };
    await this.#db.run(projectQueries.insert, toProjectRow(project));
    this.#runs.clearCache();
    return toIds(tenantId, project);
  }

  async update(tenantId: string, id: string, changes: ProjectChanges): Promise<Project> {
    const project = changeProject(await this.#read(tenantId, id), changes);
    const sameNameProjectId =
      changes.name === null ? undefined : await this.#findByName(tenantId, changes.name);
    if (sameNameProjectId !== undefined && sameNameProjectId !== id) {
      throw createConflictError("name");
    }
    await this.#db.run(projectQueries.update, toProjectRow(project));
    // The project may have been renamed, so cached names may be wrong.
    this.#runs.clearCache();
    return project;
  }

  delete(tenantId: string, id: string): Promise<LongWrite<void>> {
    return this.deleteMany(tenantId, [id]);
  }

  async deleteMany(tenantId: string, ids: readonly string[]): Promise<LongWrite<void>> {
    const distinctIds = [...new Set(ids)];
    for (const id of distinctIds) {
      await this.#read(tenantId, id);
    }
    return this.#runs.deleteAll(tenantId, distinctIds);
  }

  async #read(tenantId: string, id: string): Promise<Project> {
    const row = await this.#db.first(projectQueries.find, { id, tenantId });
    if (row === undefined) {
      throw new RequestError(404, "Session not found");
    }
    return parseProjectRow(row);
  }

  async #findByName(tenantId: string, name: string): Promise<string | undefined> {
    const nameJson = JSON.stringify(name);
    return (await this.#db.first(projectQueries.findByName, { tenantId, nameJson }))?.id;
  }
}

const createConflictError = (field: "name" | "id"): RequestError =>
  new RequestError(409, `Session with this ${field} already exists.`);

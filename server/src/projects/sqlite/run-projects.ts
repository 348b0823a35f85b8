import { SqliteSharedTexts } from "../../runs/shared-texts/sqlite-shared-texts.ts";
import { randomUUID } from "node:crypto";
import { serverLimits } from "../../model/options.ts";
import { defaultProjectName } from "../../runs/run-record.ts";
import type { ProjectReference, RunProjects } from "../../runs/run-writer-dependencies.ts";
import { LongWrite } from "../../storage/long-write.ts";
import type { ProjectRuns } from "../project.ts";
import { parseRows } from "../../storage/sqlite/rows.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";
import { StepSize } from "../../storage/sqlite/step-size.ts";
import type { TenantKeyWriter } from "../../storage/sqlite/tenant-keys.ts";

/**
 * The projects of runs in SQLite. Creates a project when a run first names it, and deletes projects with their runs.
 * It is synchronous, like the code that stores the runs. Projects are cached: there are few, and every run names one.
 */
export class SqliteRunProjects implements RunProjects, ProjectRuns {
  readonly #statements;
  readonly #sharedTexts: SqliteSharedTexts;
  readonly #keys: TenantKeyWriter;
  readonly #steps: StepSize;
  /** Project ids by tenant and name. */
  readonly #idsByName = new Map<string, string>();
  readonly #tenantsById = new Map<string, string>();

  constructor(db: Connection, keys: TenantKeyWriter, stepSize = new StepSize()) {
    this.#keys = keys;
    this.#sharedTexts = new SqliteSharedTexts(db);
    this.#steps = stepSize;
    this.#statements = {
      deleteProject: projectDeletions.map((sql) => db.prepare(sql)),
      listRuns: db
        .prepare(
          `SELECT trace_id, id,
             (SELECT total(octet_length(body)) FROM payloads p WHERE p.trace_id = r.trace_id AND p.id = r.id)
               + (SELECT total(length(bytes)) FROM attachments a WHERE a.trace_id = r.trace_id AND a.id = r.id)
           FROM runs r WHERE project_id = ? LIMIT ?`,
        )
        .raw(),
      deleteFacets: db.prepare(
        `DELETE FROM run_facets WHERE (project_id, facet, block) IN
           (SELECT project_id, facet, block FROM run_facets WHERE project_id = ? LIMIT ?)`,
      ),
      deleteRuns: runDeletions.map((sql) => db.prepare(sql)),
      insert: db.prepare(
        "INSERT OR IGNORE INTO projects (id, tenant_id, name_json, start_us) VALUES (?, ?, ?, ?)",
      ),
      findByName: db.prepare("SELECT id FROM projects WHERE tenant_id = ? AND name_json = ?").raw(),
      findTenant: db.prepare("SELECT tenant_id FROM projects WHERE id = ?").raw(),
    };
  }

  /**
   * Finds the row key of the project that a run names. Returns `undefined` if the run names no project, and an object
   * with the reason if the run must be rejected.
   */
  resolve(
    tenantId: string,
    { projectId, projectName }: ProjectReference,
  ): string | undefined | { readonly reason: string } {
    if (typeof projectId === "string") {
      const key = this.#keys.keyOf("project", tenantId, projectId);
      return this.belongsTo(tenantId, key)
        ? key
        : { reason: `session_id: there is no project ${projectId}` };
    }
    return typeof projectName === "string" ? this.findOrCreate(tenantId, projectName) : undefined;
  }

  /**
   * Returns the row key of the default project if a run names no project. If the run names a project, returns an empty
   * text and creates no project.
   */
  resolveDefault(tenantId: string, { projectId, projectName }: ProjectReference): string {
    const isNamed = typeof projectId === "string" || typeof projectName === "string";
    return isNamed ? "" : this.findOrCreate(tenantId, null);
  }

  /**
   * Returns the row key of the project with this name, or of the default project if the name is `null`. Creates a
   * missing project.
   */
  findOrCreate(tenantId: string, projectName: string | null): string {
    const name = projectName ?? defaultProjectName;
    const key = `${tenantId}/${name}`;
    const cached = this.#idsByName.get(key);
    if (cached !== undefined) {
      return cached;
    }
    const values = [randomUUID(), tenantId, JSON.stringify(name), Date.now() * 1_000];
    this.#statements.insert.run(values);
    const id = String(this.#findByName(tenantId, name));
    this.#idsByName.set(key, id);
    return id;
  }

  /** Whether a project belongs to a tenant. */
  belongsTo(tenantId: string, id: string): boolean {
    return this.#findTenant(id) === tenantId;
  }

  deleteAll(tenantId: string, ids: readonly string[]): LongWrite<void> {
    return new LongWrite(this.#deleteAll(tenantId, ids));
  }

  /** Deletes runs in slices, each of which ends with `yield`. Each project is deleted after its last run. */
  *#deleteAll(tenantId: string, ids: readonly string[]): Generator<void, void> {
    const { listRuns, deleteRuns, deleteFacets, deleteProject } = this.#statements;
    for (const id of ids) {
      for (let hasMore = true; hasMore;) {
        const runs = parseRows(listRuns.all([id, this.#steps.limitRows(runsPerStep)]));
        const values = [JSON.stringify(limitBytes(runs)), tenantId];
        deleteRuns.forEach((statement) => statement.run(values));
        hasMore = runs.length > 0;
        yield;
      }
      while (this.#sharedTexts.deleteUnused() > 0) {
        yield;
      }
      while (deleteFacets.run([id, this.#steps.limitRows(facetsPerStep)]).changes > 0) {
        yield;
      }
      deleteProject.forEach((statement) => statement.run([id]));
      this.clearCache();
      yield;
    }
  }

  /** Clears the caches. Must be called after a rollback, because cached projects may no longer exist. */
  clearCache(): void {
    this.#idsByName.clear();
    this.#tenantsById.clear();
  }

  #findByName(tenantId: string, name: string): string | undefined {
    const rows = this.#statements.findByName.all([tenantId, JSON.stringify(name)]);
    const [values] = parseRows(rows);
    return values === undefined ? undefined : String(values[0]);
  }

  #findTenant(id: string): string | undefined {
    const cached = this.#tenantsById.get(id);
    if (cached !== undefined) {
      return cached;
    }
    const [values] = parseRows(this.#statements.findTenant.all([id]));
    const tenantId = values === undefined ? undefined : String(values[0]);
    if (tenantId !== undefined) {
      this.#tenantsById.set(id, tenantId);
    }
    return tenantId;
  }
}

/** Maximum number of runs that one slice deletes. */
const runsPerStep = 25;
const facetsPerStep = 500;

/**
 * Returns the first runs, up to the one that exceeds the byte limit of a slice. The third column of each row is the
 * run's size in bytes.
 */
function limitBytes(runs: readonly (readonly unknown[])[]): readonly (readonly unknown[])[] {
  let bytes = 0;
  const end = runs.findIndex((run) => (bytes += Number(run[2])) > serverLimits.erasedBytes);
  return end === -1 ? runs : runs.slice(0, end + 1);
}

/**
 * Statements that delete runs and the rows that belong to them: `?1` is a JSON list of pairs, each
 * the id of a trace and the id of one of its runs, and `?2` is the tenant id.
 */
const runDeletions = [
  // Rows of other tenants may refer to the same ids and must not be deleted.
  ...["feedback", "feedback_tokens", "annotation_queue_runs"].map(
    (table) =>
      `DELETE FROM ${table} WHERE +tenant_id = ?2
       AND run_id IN (SELECT value ->> 1 FROM json_each(?1))`,
  ),
  ...["payloads", "attachments", "shares", "trace_shares", "runs"].map(
    (table) =>
      `DELETE FROM ${table} WHERE (trace_id, id) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?1)) AND ?2 <> ''`,
  ),
];

/** Statements that delete a project and the rows that belong to it: `?1` is its id. */
const projectDeletions = [
  ...["payloads", "attachments", "shares", "trace_shares"].map(
    (table) =>
      `DELETE FROM ${table} WHERE (trace_id, id) IN (SELECT trace_id, id FROM runs WHERE project_id = ?1)`,
  ),
  // Rows of other tenants may refer to the same ids and must not be deleted.
  ...["feedback", "feedback_tokens", "annotation_queue_runs"].map(
    (table) =>
      `DELETE FROM ${table} WHERE run_id IN (SELECT id FROM runs WHERE project_id = ?1)
       AND tenant_id = (SELECT tenant_id FROM projects WHERE id = ?1)`,
  ),
  "DELETE FROM feedback WHERE project_id = ?1 AND run_id IS NULL",
  "DELETE FROM thread_shares WHERE project_id = ?1",
  "DELETE FROM comparative_experiments WHERE project_id = ?1",
  "DELETE FROM runs WHERE project_id = ?1",
  "DELETE FROM projects WHERE id = ?1",
];

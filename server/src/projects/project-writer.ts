import { randomUUID } from "node:crypto";
import { RequestError } from "../model/errors.ts";
import { serverLimits } from "../model/options.ts";
import { defaultProjectName } from "../runs/run-record.ts";
import { LongWrite } from "../storage/long-write.ts";
import { changeProject, draftProject } from "./project.ts";
import type { Project, ProjectChanges, ProjectDraft, ProjectWrites } from "./project.ts";
import type { RunColumns } from "../runs/run-record.ts";
import { parseProjectRow, projectColumns, projectToValues } from "./project-row.ts";
import { parseRows } from "../storage/sqlite/rows.ts";
import type { Connection } from "../storage/sqlite/connection.ts";
import { StepSize } from "../storage/sqlite/step-size.ts";
import { toIds } from "../storage/sqlite/tenant-keys.ts";
import type { TenantKeyWriter } from "../storage/sqlite/tenant-keys.ts";

/** Writes projects, and makes them when they are first used. Remembers them: there are few, and every run names one. */
export class ProjectWriter implements ProjectWrites {
  readonly #statements;
  readonly #keys: TenantKeyWriter;
  readonly #steps: StepSize;
  /** By tenant and name. */
  readonly #idsByName = new Map<string, string>();
  readonly #tenantsById = new Map<string, string>();

  constructor(db: Connection, keys: TenantKeyWriter, steps = new StepSize()) {
    this.#keys = keys;
    this.#steps = steps;
    const places = projectColumns.replaceAll(/\w+/g, "?");
    this.#statements = {
      read: db
        .prepare(`SELECT ${projectColumns} FROM projects WHERE id = ? AND tenant_id = ?`)
        .raw(),
      write: db.prepare(`INSERT OR REPLACE INTO projects (${projectColumns}) VALUES (${places})`),
      deletes: deletions.map((sql) => db.prepare(sql)),
      someRuns: db
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

  /** The key of the project that a run names; `undefined` where it names none, a reason where it can't be. */
  resolve(
    tenantId: string,
    { projectId, projectName }: RunColumns,
  ): string | undefined | { readonly reason: string } {
    if (typeof projectId === "string") {
      const key = this.#keys.keyOf("project", tenantId, projectId);
      return this.isOf(tenantId, key)
        ? key
        : { reason: `session_id: there is no project ${projectId}` };
    }
    return typeof projectName === "string" ? this.idOf(tenantId, projectName) : undefined;
  }

  /** The project for a run that names none. Not made where the run itself names one. */
  defaultId(tenantId: string, { projectId, projectName }: RunColumns): string {
    const isNamed = typeof projectId === "string" || typeof projectName === "string";
    return isNamed ? "" : this.idOf(tenantId, null);
  }

  /** The key of the project of this name, `null` for the one of runs that name none; makes it where it is missing. */
  idOf(tenantId: string, projectName: string | null): string {
    const name = projectName ?? defaultProjectName;
    const key = `${tenantId}/${name}`;
    const known = this.#idsByName.get(key);
    if (known !== undefined) {
      return known;
    }
    const values = [randomUUID(), tenantId, JSON.stringify(name), Date.now() * 1_000];
    this.#statements.insert.run(values);
    const id = String(this.#find(tenantId, name));
    this.#idsByName.set(key, id);
    return id;
  }

  /** Whether a project is a tenant's. */
  isOf(tenantId: string, id: string): boolean {
    return this.#tenantOf(id) === tenantId;
  }

  create(tenantId: string, draft: ProjectDraft): Project {
    const known = this.#find(tenantId, draft.name);
    if (known !== undefined) {
      if (draft.upsert) {
        return this.update(tenantId, known, draft);
      }
      throw taken("name");
    }
    const key = this.#keys.keyOf("project", tenantId, draft.id);
    const owner = this.#tenantOf(key);
    if (owner === tenantId) {
      throw taken("id");
    }
    const id = owner === undefined ? key : this.#keys.lengthen("project", tenantId, draft.id);
    return toIds(tenantId, this.#write({ ...draftProject(draft, tenantId), id }));
  }

  update(tenantId: string, id: string, changes: ProjectChanges): Project {
    const project = this.#read(tenantId, id);
    const other = changes.name === null ? undefined : this.#find(tenantId, changes.name);
    if (other !== undefined && other !== id) {
      throw taken("name");
    }
    return this.#write(changeProject(project, changes));
  }

  delete(tenantId: string, id: string): LongWrite<void> {
    return this.deleteMany(tenantId, [id]);
  }

  deleteMany(tenantId: string, ids: readonly string[]): LongWrite<void> {
    const own = [...new Set(ids)];
    own.forEach((id) => this.#read(tenantId, id));
    return new LongWrite(this.#deleteAll(tenantId, own));
  }

  /** Runs first, some at a time; each project goes with the last of its own. */
  *#deleteAll(tenantId: string, ids: readonly string[]): Generator<void, void> {
    const { someRuns, deleteRuns, deleteFacets, deletes } = this.#statements;
    for (const id of ids) {
      for (let isMore = true; isMore;) {
        const runs = parseRows(someRuns.all([id, this.#steps.rowsOf(runsPerStep)]));
        const values = [JSON.stringify(takeSome(runs)), tenantId];
        deleteRuns.forEach((statement) => statement.run(values));
        isMore = runs.length > 0;
        yield;
      }
      while (deleteFacets.run([id, this.#steps.rowsOf(facetsPerStep)]).changes > 0) {
        yield;
      }
      deletes.forEach((statement) => statement.run([id]));
      this.forget();
      yield;
    }
  }

  /** After a rollback: what was remembered of the database may not be there. */
  forget(): void {
    this.#idsByName.clear();
    this.#tenantsById.clear();
  }

  #read(tenantId: string, id: string): Project {
    const [values] = parseRows(this.#statements.read.all([id, tenantId]));
    if (values === undefined) {
      throw new RequestError(404, "Session not found");
    }
    return parseProjectRow(values);
  }

  #write(project: Project): Project {
    this.#statements.write.run(projectToValues(project));
    // Its name may be another one now.
    this.#idsByName.clear();
    return project;
  }

  #find(tenantId: string, name: string): string | undefined {
    const rows = this.#statements.findByName.all([tenantId, JSON.stringify(name)]);
    const [values] = parseRows(rows);
    return values === undefined ? undefined : String(values[0]);
  }

  #tenantOf(id: string): string | undefined {
    const known = this.#tenantsById.get(id);
    if (known !== undefined) {
      return known;
    }
    const [values] = parseRows(this.#statements.findTenant.all([id]));
    const tenantId = values === undefined ? undefined : String(values[0]);
    if (tenantId !== undefined) {
      this.#tenantsById.set(id, tenantId);
    }
    return tenantId;
  }
}

/** Runs that are deleted before others may have their turn. */
const runsPerStep = 25;
const facetsPerStep = 500;

/** The first of some runs, each of which ends with its bytes. */
function takeSome(runs: readonly (readonly unknown[])[]): readonly (readonly unknown[])[] {
  let bytes = 0;
  const end = runs.findIndex((run) => (bytes += Number(run[2])) > serverLimits.erasedBytes);
  return end === -1 ? runs : runs.slice(0, end + 1);
}

/** What goes with runs: `?1` is a list of their traces and ids, `?2` their tenant. */
const runDeletions = [
  // Another tenant may hold rows that name these ids: they stay.
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

/** What goes with a project: `?1` is its id. */
const deletions = [
  ...["payloads", "attachments", "shares", "trace_shares"].map(
    (table) =>
      `DELETE FROM ${table} WHERE (trace_id, id) IN (SELECT trace_id, id FROM runs WHERE project_id = ?1)`,
  ),
  // Another tenant may hold rows that name these ids: they stay.
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

const taken = (what: "name" | "id"): RequestError =>
  new RequestError(409, `Session with this ${what} already exists.`);

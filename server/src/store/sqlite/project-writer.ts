import { randomUUID } from "node:crypto";
import { defaultProjectName } from "../merge.ts";
import { changeProject, draftProject } from "../project.ts";
import type { Project, ProjectChanges, ProjectDraft, ProjectFate } from "../project.ts";
import type { RunColumns } from "../run-record.ts";
import { parseProjectRow, projectColumns, projectToValues } from "./project-row.ts";
import { parseRows } from "./row.ts";
import type { Connection } from "./schema.ts";

/** Writes projects, and makes them when they are first used. Remembers them: there are few, and every run names one. */
export class ProjectWriter {
  readonly tenantId: string;
  readonly #statements;
  readonly #idsByName = new Map<string, string>();
  readonly #ids = new Set<string>();

  constructor(db: Connection) {
    this.tenantId = readTenantId(db);
    const places = projectColumns.replaceAll(/\w+/g, "?");
    this.#statements = {
      read: db.prepare(`SELECT ${projectColumns} FROM projects WHERE id = ?`).raw(),
      write: db.prepare(`INSERT OR REPLACE INTO projects (${projectColumns}) VALUES (${places})`),
      deletes: ["payloads", "attachments", "shares"]
        .map(
          (table) =>
            `DELETE FROM ${table} WHERE (trace_id, id) IN (SELECT trace_id, id FROM runs WHERE project_id = ?)`,
        )
        .concat("DELETE FROM runs WHERE project_id = ?", "DELETE FROM projects WHERE id = ?")
        .map((sql) => db.prepare(sql)),
      insert: db.prepare(
        "INSERT OR IGNORE INTO projects (id, tenant_id, name_json, start_us) VALUES (?, ?, ?, ?)",
      ),
      findByName: db.prepare("SELECT id FROM projects WHERE name_json = ?").raw(),
      findById: db.prepare("SELECT id FROM projects WHERE id = ?").raw(),
    };
  }

  /** The id of the project that a run names; `undefined` where it names none, a reason where it can't be. */
  resolve({
    projectId,
    projectName,
  }: RunColumns): string | undefined | { readonly reason: string } {
    if (typeof projectId === "string") {
      return this.#has(projectId)
        ? projectId
        : { reason: `session_id: there is no project ${projectId}` };
    }
    return typeof projectName === "string" ? this.#idOf(projectName) : undefined;
  }

  /** The project for a run that names none. Not made where the run itself names one. */
  defaultId({ projectId, projectName }: RunColumns): string {
    const isNamed = typeof projectId === "string" || typeof projectName === "string";
    return isNamed ? "" : this.#idOf(defaultProjectName);
  }

  create(draft: ProjectDraft): ProjectFate {
    const known = this.#find(draft.name);
    if (known !== undefined) {
      return draft.upsert ? this.update(known, draft) : { kind: "taken", what: "name" };
    }
    if (this.#has(draft.id)) {
      return { kind: "taken", what: "id" };
    }
    return this.#write(draftProject(draft, this.tenantId));
  }

  update(id: string, changes: ProjectChanges): ProjectFate {
    const [values] = parseRows(this.#statements.read.all([id]));
    if (values === undefined) {
      return { kind: "missing" };
    }
    const other = changes.name === null ? undefined : this.#find(changes.name);
    return other !== undefined && other !== id
      ? { kind: "taken", what: "name" }
      : this.#write(changeProject(parseProjectRow(values), changes));
  }

  /** Deletes its runs too. */
  delete(id: string): boolean {
    if (this.#statements.findById.all([id]).length === 0) {
      return false;
    }
    this.#statements.deletes.forEach((statement) => statement.run([id]));
    this.forget();
    return true;
  }

  #write(project: Project): ProjectFate {
    this.#statements.write.run(projectToValues(project));
    // Its name may be another one now.
    this.#idsByName.clear();
    return { kind: "written", project };
  }

  #find(name: string): string | undefined {
    const [values] = parseRows(this.#statements.findByName.all([JSON.stringify(name)]));
    return values === undefined ? undefined : String(values[0]);
  }

  forget(): void {
    this.#idsByName.clear();
    this.#ids.clear();
  }

  #idOf(name: string): string {
    const known = this.#idsByName.get(name);
    if (known !== undefined) {
      return known;
    }
    const nameJson = JSON.stringify(name);
    this.#statements.insert.run([randomUUID(), this.tenantId, nameJson, Date.now() * 1_000]);
    const id = String(parseRows(this.#statements.findByName.all([nameJson]))[0]?.[0]);
    this.#idsByName.set(name, id);
    return id;
  }

  #has(id: string): boolean {
    if (!this.#ids.has(id) && this.#statements.findById.all([id]).length > 0) {
      this.#ids.add(id);
    }
    return this.#ids.has(id);
  }
}

function readTenantId(db: Connection): string {
  db.prepare("INSERT OR IGNORE INTO settings (key, value) VALUES ('tenant_id', ?)").run([
    randomUUID(),
  ]);
  // A database of before this was kept is as old as its first project.
  db.prepare(
    "INSERT OR IGNORE INTO settings (key, value) SELECT 'tenant_us', coalesce(min(start_us), ?) FROM projects",
  ).run([Date.now() * 1_000]);
  const rows = db.prepare("SELECT value FROM settings WHERE key = 'tenant_id'").raw().all();
  return String(parseRows(rows)[0]?.[0]);
}

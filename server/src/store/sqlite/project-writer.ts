import { randomUUID } from "node:crypto";
import { defaultProjectName } from "../merge.ts";
import type { RunColumns } from "../run-record.ts";
import { parseRows } from "./row.ts";
import type { Connection } from "./schema.ts";

/** Makes projects when they are first used. Remembers them: there are few, and every run names one. */
export class ProjectWriter {
  readonly tenantId: string;
  readonly #statements;
  readonly #idsByName = new Map<string, string>();
  readonly #ids = new Set<string>();

  constructor(db: Connection) {
    this.tenantId = readTenantId(db);
    this.#statements = {
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
  const rows = db.prepare("SELECT value FROM settings WHERE key = 'tenant_id'").raw().all();
  return String(parseRows(rows)[0]?.[0]);
}

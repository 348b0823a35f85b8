import { parseBatch, parseOneRun } from "../../src/runs/ingest/parse-batch.ts";
import type { IngestResult } from "../../src/runs/run-record.ts";
import type { RunFilter, RunQuery } from "../../src/runs/run-query.ts";
import type { Connection } from "../../src/storage/sqlite/connection.ts";
import { formatMigrations } from "../../src/store/schema.ts";
import type { Store } from "../../src/store/store.ts";
import { toRunJson } from "../../src/runs/serializers/run-json.ts";

export type WireObject = Readonly<Record<string, unknown>>;

/** The part of a store that every engine of runs has. */
export interface RunTestStore extends Pick<Store, "ingest" | "defaultTenantId"> {
  readonly read: Pick<Store["read"], "runs" | "projects" | "storage">;
  readonly write: Pick<Store["write"], "runs" | "projects">;
}

/** A store that tests use with runs in the wire format. */
export class StoreFixture<TestedStore extends RunTestStore = Store> {
  readonly store: TestedStore;
  readonly tenantId: string;

  constructor(store: TestedStore, tenantId = store.defaultTenantId) {
    this.store = store;
    this.tenantId = tenantId;
  }

  /** Ingests a batch. */
  send(batch: { post?: readonly unknown[]; patch?: readonly unknown[] }): Promise<IngestResult> {
    return this.store.ingest(this.tenantId, parseBatch(Buffer.from(JSON.stringify(batch))).batch);
  }

  /** Ingests the body of a single-run request. */
  sendOne(operation: "post" | "patch", run: WireObject, pathId?: string): Promise<IngestResult> {
    const rules = { position: "optional", ...(pathId === undefined ? {} : { pathId }) } as const;
    return this.store.ingest(
      this.tenantId,
      parseOneRun(Buffer.from(JSON.stringify(run)), operation, rules).batch,
    );
  }

  /** The run as `GET /runs/{id}` returns it; empty if it does not exist. */
  async read(id: string): Promise<WireObject> {
    const run = await this.store.read.runs.find(this.tenantId, id);
    return run === undefined ? {} : (JSON.parse(toRunJson(run).toString()) as WireObject);
  }

  /** Names of the runs that a filter finds, oldest first by default. */
  async query(filter: RunFilter, rest: Partial<RunQuery> = {}): Promise<string[]> {
    const page = await this.store.read.runs.query(this.tenantId, {
      filter,
      order: "asc",
      limit: 100,
      withChildren: false,
      ...rest,
    });
    return page.runs.map(({ row }) => row.name);
  }
}

export const patchOf = (
  { id, trace_id, dotted_order }: WireObject,
  fields: WireObject,
): WireObject => ({ id, trace_id, dotted_order, ...fields });

/**
 * Drops the tables, indexes, triggers and columns that formats after this one have added, so that opening the database
 * adds them again.
 */
export function revertToFormat(db: Connection, format: number): void {
  const reverted = formatMigrations.slice(format).join("");
  const drop = (kind: "TRIGGER" | "INDEX" | "TABLE"): void => {
    for (const [, name] of reverted.matchAll(
      new RegExp(`CREATE (?:UNIQUE )?${kind} (\\w+)`, "g"),
    )) {
      db.exec(`DROP ${kind} IF EXISTS ${name}`);
    }
  };
  drop("TRIGGER");
  drop("INDEX");
  for (const [, table, column] of reverted.matchAll(/ALTER TABLE (\w+) ADD COLUMN (\w+)/g)) {
    db.exec(`ALTER TABLE ${table} DROP COLUMN ${column}`);
  }
  drop("TABLE");
  db.exec(`PRAGMA user_version = ${format}`);
}

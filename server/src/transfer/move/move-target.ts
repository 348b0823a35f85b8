import { Partitions } from "../../runs/postgres/partitions.ts";
import { idOf } from "../../storage/row-keys.ts";
import type { PostgresClient } from "../../storage/postgres/postgres-client.ts";
import { PostgresDatabase } from "../../storage/postgres/postgres-database.ts";
import { codeOf } from "../../storage/postgres/postgres-errors.ts";
import { copiedRunsPlace } from "../../runs/postgres/run-places.ts";
import { findTable, portableTables } from "../portable-tables.ts";
import type { PortableTable } from "../portable-tables.ts";
import type { PortableRow } from "../portable-row.ts";
import { PostgresTarget, readWeek } from "../postgres-target.ts";
import { toColumnValue } from "../postgres-rows.ts";
import { noOffsets, toPortableValues } from "../tenant-rows.ts";
import type { TenantIdentity } from "../tenant-rows.ts";
import type { ChangedRow } from "./change-log.ts";
import type { CurrentRow, MoveSource } from "./move-source.ts";

/** Rows that are read and written at once; fewer if they may be megabytes long. */
const rowsPerBatch = 200;
const wideRowsPerBatch = 25;

/** Maximum number of attempts to write rows that exchange their unique names. */
const maxPasses = 10;

const uniqueViolation = "23505";

/** Makes rows in PostgreSQL equal to those that SQLite has now, in the transaction of the caller. */
export class MoveTarget {
  readonly #client: PostgresClient;
  readonly #partitions: Partitions;
  readonly #primaryKeys = new Map<string, readonly string[]>();
  readonly #runTable = findRequired("runs");
  readonly #attachmentTable = findRequired("attachments");

  constructor(client: PostgresClient) {
    this.#client = client;
    this.#partitions = new Partitions(new PostgresDatabase(client));
  }

  /** Must be called after a rollback, which may have undone the creation of partitions. */
  clearCache(): void {
    this.#partitions.clearCache();
  }

  /** Returns a target for the runs, the attachments and the example index of a tenant. Rows must not exist already. */
  open(tenantId: string): PostgresTarget {
    return new PostgresTarget(this.#client, tenantId, { offsets: noOffsets });
  }

  async writeTenants(tenants: readonly TenantIdentity[]): Promise<void> {
    for (const { id, handle, displayNameJson, createdMicros } of tenants) {
      await this.#client.run({
        text: `INSERT INTO tenants (id, handle, display_name_json, created_us) VALUES ($1, $2, $3, $4)
          ON CONFLICT (id) DO UPDATE SET handle = excluded.handle, display_name_json = excluded.display_name_json`,
        values: [id, handle, displayNameJson, createdMicros],
      });
    }
  }

  /**
   * Copies changed rows, and deletes those that no longer exist. The deletions come first, so that the names that they
   * free can be used again.
   */
  async apply(changed: readonly ChangedRow[], source: MoveSource): Promise<void> {
    const byTable = new Map<string, Map<string, ChangedRow>>();
    for (const row of changed) {
      const rows = byTable.get(row.table) ?? new Map<string, ChangedRow>();
      byTable.set(row.table, rows);
      rows.set(JSON.stringify([row.tenantId, row.key]), row);
    }
    if (byTable.size === 0) {
      return;
    }
    const tenants = source.rows.listTenants();
    await this.writeTenants(tenants);
    const runIds = [
      ...new Set([...(byTable.get("runs") ?? []).values()].map(({ key }) => idOf(String(key[0])))),
    ];
    for (const ids of splitList(runIds, rowsPerBatch)) {
      await this.#deleteRuns(ids, tenants);
    }
    for (const table of portableTables.toReversed()) {
      for (const row of byTable.get(table.name)?.values() ?? []) {
        if (!isRunTable(table) && source.read(table, row).length === 0) {
          await this.#delete(table, row);
        }
      }
    }
    for (const table of portableTables) {
      const rows = [...(byTable.get(table.name)?.values() ?? [])];
      const batch = table.isWide === true ? wideRowsPerBatch : rowsPerBatch;
      if (table.name === "runs") {
        for (const ids of splitList(runIds, batch)) {
          await this.#writeRuns(ids, source);
        }
      } else if (!isRunTable(table)) {
        for (const part of splitList(rows, batch)) {
          await this.#writeRows(
            table,
            part.flatMap((row) => source.read(table, row)),
          );
        }
      }
    }
  }

  async #deleteRuns(ids: readonly string[], tenants: readonly TenantIdentity[]): Promise<void> {
    const values = [tenants.map(({ id }) => id), ids];
    for (const table of ["payloads", "attachments", "runs"]) {
      await this.#client.run({
        text: `DELETE FROM ${table} t USING run_keys k WHERE k.tenant_id = ANY($1::text[]) AND k.id = ANY($2::text[])
          AND t.tenant_id = k.tenant_id AND t.root_us = k.root_us AND t.trace_id = k.trace_id AND t.id = k.id`,
        values,
      });
    }
    await this.#client.run({
      text: "DELETE FROM run_keys WHERE tenant_id = ANY($1::text[]) AND id = ANY($2::text[])",
      values,
    });
  }

  async #writeRuns(ids: readonly string[], source: MoveSource): Promise<void> {
    const table = this.#runTable;
    const rows = ids.flatMap((id) =>
      source.read(table, { table: table.name, tenantId: null, key: [id] }),
    );
    await this.#partitions.ensure(rows.map(({ row }) => readWeek(table, row)));
    for (const [tenantId, tenantRows] of groupByTenant(rows)) {
      await this.open(tenantId).writeRuns(
        table,
        tenantRows.map(({ row }) => row),
        // The order in which runs were stored stays the same, so that rules continue where they stopped.
        tenantRows.map(({ rowId }) => copiedRunsPlace + rowId),
      );
    }
    for (const id of ids) {
      for (const { tenantId, row } of source.readAttachments(this.#attachmentTable, id)) {
        await this.open(tenantId).write(this.#attachmentTable, [row]);
      }
    }
  }

  async #delete(table: PortableTable, { tenantId, key }: ChangedRow): Promise<void> {
    if (table.name === "settings" && !String(key[0]).startsWith("retention/")) {
      return;
    }
    const isOwned = tenantId !== null && table.name !== "settings";
    const values = isOwned
      ? [
          tenantId,
          ...toPortableValues({ ...table, columns: table.key, numbers: {} }, key, {
            tenantId,
            offsets: noOffsets,
          }),
        ]
      : key;
    const columns = isOwned ? ["tenant_id", ...table.key] : table.key;
    await this.#client.run({
      text: `DELETE FROM ${table.name} WHERE ${columns.map((column, index) => `${column} = $${index + 1}`).join(" AND ")}`,
      values: values.map((value, index) => toColumnValue(table.name, columns[index] ?? "", value)),
    });
  }

  async #writeRows(table: PortableTable, rows: readonly CurrentRow[]): Promise<void> {
    const key = await this.#readPrimaryKey(table.name);
    for (const [tenantId, tenantRows] of groupByTenant(rows)) {
      const target = new PostgresTarget(this.#client, tenantId, {
        offsets: noOffsets,
        toConflictSql: (name) => (name === table.name ? createConflictSql(table, key) : ""),
      });
      await this.#writeInAnyOrder(
        table,
        target,
        tenantRows.map(({ row }) => row),
      );
    }
  }

  /**
   * Writes rows, some of which may have taken over a unique name from another row. Rows that fail are written again
   * after the others.
   */
  async #writeInAnyOrder(
    table: PortableTable,
    target: PostgresTarget,
    rows: readonly PortableRow[],
  ): Promise<void> {
    if ((await this.#tryToWrite(table, target, rows)) === undefined) {
      return;
    }
    let waiting = rows;
    for (let pass = 0; waiting.length > 0; pass += 1) {
      const failed: PortableRow[] = [];
      for (const row of waiting) {
        const cause = await this.#tryToWrite(table, target, [row]);
        if (cause !== undefined) {
          failed.push(row);
          if (pass === maxPasses) {
            throw cause;
          }
        }
      }
      waiting = failed;
    }
  }

  /** Tries to write rows. If one has a unique name that another row still has, writes nothing and returns the error. */
  async #tryToWrite(
    table: PortableTable,
    target: PostgresTarget,
    rows: readonly PortableRow[],
  ): Promise<Error | undefined> {
    await this.#client.exec("SAVEPOINT move_rows");
    try {
      await target.write(table, rows);
      await this.#client.exec("RELEASE SAVEPOINT move_rows");
      return undefined;
    } catch (cause) {
      if (codeOf(cause) !== uniqueViolation || !(cause instanceof Error)) {
        throw cause;
      }
      await this.#client.exec("ROLLBACK TO SAVEPOINT move_rows");
      return cause;
    }
  }

  async #readPrimaryKey(table: string): Promise<readonly string[]> {
    const cachedColumns = this.#primaryKeys.get(table);
    if (cachedColumns !== undefined) {
      return cachedColumns;
    }
    const { rows } = await this.#client.run({
      text: `SELECT a.attname AS name FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey)
        WHERE i.indrelid = $1::text::regclass AND i.indisprimary`,
      values: [table],
    });
    const columns = rows.map(({ name }) => String(name));
    this.#primaryKeys.set(table, columns);
    return columns;
  }
}

function createConflictSql({ name, columns }: PortableTable, key: readonly string[]): string {
  const otherColumns = columns.filter((column) => !key.includes(column));
  // Entries of the audit log never change.
  return otherColumns.length === 0 || name === "audit_entries"
    ? "ON CONFLICT DO NOTHING"
    : `ON CONFLICT (${key.join(", ")}) DO UPDATE SET ${otherColumns.map((column) => `${column} = excluded.${column}`).join(", ")}`;
}

const isRunTable = ({ name }: PortableTable): boolean => name === "runs" || name === "attachments";

function findRequired(name: string): PortableTable {
  const table = findTable(name);
  if (table === undefined) {
    throw new Error(`there is no table ${name}`);
  }
  return table;
}

function groupByTenant(rows: readonly CurrentRow[]): ReadonlyMap<string, readonly CurrentRow[]> {
  const groups = new Map<string, CurrentRow[]>();
  for (const row of rows) {
    const group = groups.get(row.tenantId) ?? [];
    groups.set(row.tenantId, group);
    group.push(row);
  }
  return groups;
}

function* splitList<Item>(items: readonly Item[], size: number): Generator<readonly Item[]> {
  for (let start = 0; start < items.length; start += size) {
    yield items.slice(start, start + size);
  }
}

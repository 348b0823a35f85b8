import type { Connection } from "../../storage/sqlite/connection.ts";
import { parseRows, textOrNull } from "../../storage/sqlite/rows.ts";
import { idOf } from "../../storage/row-keys.ts";
import type { PortableTable } from "../portable-tables.ts";
import type { PortableRow, PortableValue } from "../portable-row.ts";
import { selectPortable, SqliteRows } from "../sqlite-rows.ts";
import { noOffsets } from "../tenant-rows.ts";
import type { ChangedRow } from "./change-log.ts";

/** A row as it is now, with its tenant. */
export interface CurrentRow {
  readonly tenantId: string;
  readonly row: PortableRow;
  /** The row number of a run; 0 for any other row. */
  readonly rowId: number;
}

/** Reads single rows from SQLite, by their keys, in the transaction of the caller. */
export class MoveSource {
  readonly #db: Connection;
  readonly rows: SqliteRows;
  readonly #scanKeys = new Map<string, readonly string[]>();

  constructor(db: Connection) {
    this.#db = db;
    this.rows = new SqliteRows(db);
  }

  /**
   * Lists the next rows of a table, in the order of its primary key.
   *
   * @param after - the `position` that the previous call returned; `null` at the beginning
   * @returns the rows, and the position of the last one; `null` instead after the last row of the table
   */
  scan(
    table: PortableTable,
    after: readonly (string | number)[] | null,
    limit: number,
  ): { readonly changed: readonly ChangedRow[]; readonly position: (string | number)[] | null } {
    const order = table.name === "runs" ? ["rowid"] : this.#primaryKey(table.name);
    const tenant = table.sqlite.tenant === "t.tenant_id" ? "t.tenant_id" : "NULL";
    const columns = [...order, ...table.key].map((column) => `t.${column}`).join(", ");
    const condition =
      after === null
        ? ""
        : `WHERE (${order.map((column) => `t.${column}`).join(", ")}) > (${order.map(() => "?").join(", ")})`;
    const rows = parseRows(
      this.#db
        .prepareRaw(
          `SELECT ${tenant}, ${columns} FROM ${table.name} t ${condition}
           ORDER BY ${order.map((column) => `t.${column}`).join(", ")} LIMIT ${limit}`,
        )
        .all(after ?? []),
    );
    const lastKey = rows.at(-1)?.slice(1, 1 + order.length) as (string | number)[] | undefined;
    return {
      changed: rows.map((values) => ({
        table: table.name,
        tenantId: textOrNull(values[0]),
        key: values.slice(1 + order.length) as (string | number)[],
      })),
      position: rows.length < limit ? null : (lastKey ?? null),
    };
  }

  /** Reads the rows of a table with a key: at most one, except that several tenants may have a run with the same id. */
  read(table: PortableTable, { key, tenantId: owner }: ChangedRow): readonly CurrentRow[] {
    const [first] = key;
    const isRun = table.name === "runs";
    const isOwned = owner !== null && table.sqlite.tenant === "t.tenant_id";
    const columns = [...table.key, ...(isOwned ? ["tenant_id"] : [])];
    const condition = isRun
      ? "t.id >= ?1 AND t.id < ?1 || '0'"
      : columns.map((column) => `t.${column} = ?`).join(" AND ");
    const rowId = isRun ? "t.rowid" : "0";
    const statement = this.#db.prepareRaw(
      `SELECT ${table.sqlite.tenant}, ${rowId}, ${selectPortable(table)} FROM ${table.sqlite.from} WHERE ${condition}`,
    );
    return parseRows(
      statement.all(isRun ? [idOf(String(first))] : [...key, ...(isOwned ? [owner] : [])]),
    ).map(([tenantId, number, ...values]) => ({
      tenantId: String(tenantId),
      rowId: Number(number),
      row: this.rows.toRow(table, values as PortableValue[], {
        tenantId: String(tenantId),
        offsets: noOffsets,
      }),
    }));
  }

  readAttachments(table: PortableTable, id: string): readonly CurrentRow[] {
    const statement = this.#db.prepareRaw(
      `SELECT ${table.sqlite.tenant}, ${selectPortable(table)} FROM ${table.sqlite.from}
       WHERE t.trace_id = r.trace_id AND r.id >= ?1 AND r.id < ?1 || '0'`,
    );
    return parseRows(statement.all([id])).map(([tenantId, ...values]) => ({
      tenantId: String(tenantId),
      rowId: 0,
      row: this.rows.toRow(table, values as PortableValue[], {
        tenantId: String(tenantId),
        offsets: noOffsets,
      }),
    }));
  }

  #primaryKey(table: string): readonly string[] {
    const cachedColumns = this.#scanKeys.get(table);
    if (cachedColumns !== undefined) {
      return cachedColumns;
    }
    const rows = this.#db
      .prepare(`SELECT name FROM pragma_table_info('${table}') WHERE pk > 0 ORDER BY pk`)
      .raw()
      .all();
    const columns = parseRows(rows).map(([name]) => String(name));
    this.#scanKeys.set(table, columns);
    return columns;
  }
}

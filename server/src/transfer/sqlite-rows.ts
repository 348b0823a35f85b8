import { ServerError } from "../model/errors.ts";
import { readSharedRanges } from "../runs/shared-texts/shared-ranges.ts";
import { payloadTextSql, sharedRangesSql } from "../runs/shared-texts/sqlite-shared-texts.ts";
import { isIntact } from "../storage/sqlite/checksum.ts";
import type { Connection } from "../storage/sqlite/connection.ts";
import { readDefaultTenantId } from "../storage/sqlite/open-database.ts";
import { parseRows, textOrNull } from "../storage/sqlite/rows.ts";
import type { PortableTable } from "./portable-tables.ts";
import type { PortablePayload, PortableRow, PortableValue } from "./portable-row.ts";
import { defaultTenantName, noOffsets, toPortableValues } from "./tenant-rows.ts";
import type { NumberOffsets, RowSource, TenantIdentity } from "./tenant-rows.ts";

/** Name of the columns that contain bytes. Bytes in any other column are a text that was read as bytes. */
const bytesColumn = "bytes";

/** Reads the rows of tenants from SQLite, in the transaction of the caller. */
export class SqliteRows implements RowSource {
  readonly #db: Connection;
  readonly #payloads;

  constructor(db: Connection) {
    this.#db = db;
    this.#payloads = db
      .prepare(
        `SELECT p.digest, CAST(${payloadTextSql} AS BLOB), p.checksum, ${sharedRangesSql} FROM payloads p
         WHERE p.trace_id = ? AND p.id = ? ORDER BY p.rowid`,
      )
      .raw();
  }

  async findTenant(name: string): Promise<TenantIdentity | undefined> {
    return this.listTenants().find(
      ({ id, handle }, _index, tenants) =>
        handle === name ||
        id === name ||
        (name === defaultTenantName &&
          id === readDefaultTenantId(this.#db) &&
          tenants.every((other) => other.handle !== name)),
    );
  }

  listTenants(): readonly TenantIdentity[] {
    const statement = this.#db
      .prepare("SELECT id, handle, display_name_json, created_us FROM tenants ORDER BY id")
      .raw();
    return parseRows(statement.all()).map(([id, handle, displayNameJson, createdMicros]) => ({
      id: String(id),
      handle: textOrNull(handle),
      displayNameJson: String(displayNameJson),
      createdMicros: Number(createdMicros),
    }));
  }

  *read(
    table: PortableTable,
    tenantId: string,
    offsets: NumberOffsets = noOffsets,
  ): Generator<PortableRow> {
    const statement = this.#db
      .prepare(`SELECT ${selectPortable(table)} FROM ${table.sqlite.from} WHERE ${table.sqlite.tenant} = ?
        ORDER BY ${orderOf(table)}`)
      .raw();
    for (const values of statement.iterate([tenantId])) {
      yield this.toRow(table, values as readonly PortableValue[], { tenantId, offsets });
    }
  }

  /** Converts the values of {@link selectPortable}, and reads the payloads of a run. */
  toRow(
    table: PortableTable,
    values: readonly PortableValue[],
    context: { readonly tenantId: string; readonly offsets: NumberOffsets },
  ): PortableRow {
    const texts = values.map((value, index) =>
      value instanceof Uint8Array && table.columns[index] !== bytesColumn
        ? Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("utf8")
        : value,
    );
    const row = { values: toPortableValues(table, texts, context) };
    return table.name === "runs"
      ? { ...row, payloads: this.#readPayloads(String(texts[0]), String(texts[1])) }
      : row;
  }

  #readPayloads(traceId: string, id: string): readonly PortablePayload[] {
    return parseRows(this.#payloads.all([traceId, id])).map(([digest, body, checksum, parts]) => {
      const bytes = Buffer.from(body as Uint8Array);
      if (!isIntact(checksum, bytes, id)) {
        throw new ServerError(
          "BACKUP",
          `the run ${id} is damaged on disk: a payload does not match its checksum. Delete the run, or restore a backup of the data folder, and try again`,
        );
      }
      return {
        digest: String(digest),
        body: bytes,
        shared: readSharedRanges(parts, bytes.length),
      };
    });
  }
}

/** SQL for the columns of a table. Texts are selected as bytes, because some engines return a text only up to a NUL. */
export const selectPortable = ({ columns }: PortableTable): string =>
  columns
    .map((column) =>
      column === bytesColumn
        ? `t.${column}`
        : `CASE typeof(t.${column}) WHEN 'text' THEN CAST(t.${column} AS BLOB) ELSE t.${column} END`,
    )
    .join(", ");

/** Runs are read in the order in which they were stored. */
const orderOf = ({ name, key }: PortableTable): string =>
  name === "runs" || name === "attachments"
    ? "t.rowid"
    : key.map((column) => `t.${column}`).join(", ");

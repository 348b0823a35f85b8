import {
  createPayloadTextSql,
  createSharedRangesSql,
} from "../runs/shared-texts/postgres-shared-texts.ts";
import { readSharedRanges } from "../runs/shared-texts/shared-ranges.ts";
import { decodeText, encodeText } from "../storage/postgres/text-encoding.ts";
import { textOrNull } from "../storage/sqlite/rows.ts";
import type { PostgresClient } from "../storage/postgres/postgres-client.ts";
import { quoteText } from "../storage/postgres/transaction.ts";
import type { PortableTable } from "./portable-tables.ts";
import type { PortablePayload, PortableRow, PortableValue } from "./portable-row.ts";
import { defaultTenantName, noOffsets, toPortableValues } from "./tenant-rows.ts";
import type { NumberOffsets, RowSource, TenantIdentity } from "./tenant-rows.ts";

/** Rows that are read at once; fewer if they may be megabytes long. */
const rowsPerFetch = 500;
const wideRowsPerFetch = 16;

/**
 * Columns whose texts may contain NUL and halves of surrogate pairs. PostgreSQL can't store these, so they are encoded.
 */
const encodedColumns: Readonly<Record<string, readonly string[]>> = {
  runs: ["name", "run_type"],
  attachments: ["name", "content_type"],
};

const isEncoded = (table: string, column: string): boolean =>
  encodedColumns[table]?.includes(column) === true;

/** Returns the value of a column as PostgreSQL stores it. */
export const toColumnValue = (table: string, column: string, value: PortableValue): PortableValue =>
  typeof value === "string" && isEncoded(table, column) ? encodeText(value) : value;

/** SQL for the condition that a row belongs to a tenant. */
export const tenantCondition = (table: string, tenantId: string): string => {
  if (table !== "settings") {
    return `tenant_id = ${quoteText(tenantId)}`;
  }
  const key = quoteText(`retention/${tenantId}`);
  return `(key = ${key} OR starts_with(key, ${key} || '/'))`;
};

/** Reads the rows of tenants from PostgreSQL, in the transaction of the caller. */
export class PostgresRows implements RowSource {
  readonly #client: PostgresClient;
  #cursors = 0;

  constructor(client: PostgresClient) {
    this.#client = client;
  }

  async findTenant(name: string): Promise<TenantIdentity | undefined> {
    const { rows } = await this.#client.run({
      text: `SELECT id, handle, display_name_json, created_us FROM tenants
        WHERE handle = $1 OR id = $1 OR ($1 = '${defaultTenantName}' AND id = (SELECT value FROM settings WHERE key = 'tenant_id'))
        ORDER BY handle = $1 DESC NULLS LAST LIMIT 1`,
      values: [name],
    });
    const [row] = rows;
    return (
      row && {
        id: String(row["id"]),
        handle: textOrNull(row["handle"]),
        displayNameJson: String(row["display_name_json"]),
        createdMicros: Number(row["created_us"]),
      }
    );
  }

  async *read(
    table: PortableTable,
    tenantId: string,
    offsets: NumberOffsets = noOffsets,
  ): AsyncGenerator<PortableRow> {
    this.#cursors += 1;
    const cursor = `rows_${this.#cursors}`;
    await this.#client.exec(
      `DECLARE ${cursor} NO SCROLL CURSOR FOR SELECT ${selectColumns(table)} FROM ${table.name}
       WHERE ${tenantCondition(table.name, tenantId)} ORDER BY ${orderOf(table)}`,
    );
    const limit = table.isWide === true ? wideRowsPerFetch : rowsPerFetch;
    for (;;) {
      const { rows } = await this.#client.run({
        text: `FETCH ${limit} FROM ${cursor}`,
        values: [],
      });
      yield* await this.toRows(table, rows, { tenantId, offsets });
      if (rows.length < limit) {
        break;
      }
    }
    await this.#client.exec(`CLOSE ${cursor}`);
  }

  /** Converts rows with the columns of {@link selectColumns}, and reads the payloads of runs. */
  async toRows(
    table: PortableTable,
    rows: readonly Readonly<Record<string, unknown>>[],
    context: { readonly tenantId: string; readonly offsets: NumberOffsets },
  ): Promise<readonly PortableRow[]> {
    const payloads =
      table.name === "runs" ? await this.#readPayloads(context.tenantId, rows) : undefined;
    return rows.map((row) => {
      const stored = table.columns.map((column) => {
        const value = row[column] as PortableValue;
        return typeof value === "string" && isEncoded(table.name, column)
          ? decodeText(value)
          : value;
      });
      const values = toPortableValues(table, stored, context);
      return payloads === undefined
        ? { values }
        : { values, payloads: payloads.get(String(row["id"])) ?? [] };
    });
  }

  async #readPayloads(
    tenantId: string,
    runs: readonly Readonly<Record<string, unknown>>[],
  ): Promise<ReadonlyMap<string, readonly PortablePayload[]>> {
    const { rows } = await this.#client.run({
      text: `SELECT p.id, p.digest, ${createPayloadTextSql("p")} AS body,
          ${createSharedRangesSql("p")} AS parts
        FROM unnest($2::bigint[], $3::text[], $4::text[]) i (root_us, trace_id, id)
        JOIN payloads p ON p.tenant_id = $1 AND p.root_us = i.root_us AND p.trace_id = i.trace_id AND p.id = i.id
        ORDER BY p.seq`,
      values: [
        tenantId,
        runs.map((run) => run["root_us"]),
        runs.map((run) => run["trace_id"]),
        runs.map((run) => run["id"]),
      ],
    });
    const payloads = new Map<string, PortablePayload[]>();
    for (const row of rows) {
      const list = payloads.get(String(row["id"])) ?? [];
      payloads.set(String(row["id"]), list);
      const body = Buffer.from(String(row["body"]));
      list.push({
        digest: String(row["digest"]),
        body,
        shared: readSharedRanges(row["parts"], body.length),
      });
    }
    return payloads;
  }
}

/** SQL for the columns of a table; for runs, also `root_us`, which is needed to find their payloads. */
const selectColumns = ({ name, columns }: PortableTable): string =>
  [...columns, ...(name === "runs" ? ["root_us"] : [])].join(", ");

/** Runs are read in the order in which they were stored. */
const orderOf = ({ name, key }: PortableTable): string =>
  name === "runs" ? "place" : key.join(", ");

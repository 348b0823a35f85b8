import { threadKeys } from "millrace/model";
import { PostgresExampleTextIndex } from "../datasets/examples/postgres/example-index.ts";
import { keysPerBlock } from "../datasets/examples/postgres/example-write-engine.ts";
import { ServerError } from "../model/errors.ts";
import { blockMicros, createPairFacet, createRowFacets } from "../runs/facets.ts";
import { readRootMicros } from "../runs/postgres/batch-merger.ts";
import {
  analyzeSharedTextsSql,
  PostgresSharedTexts,
} from "../runs/shared-texts/postgres-shared-texts.ts";
import { toShareableTexts } from "../runs/shared-texts/shared-ranges.ts";
import { createDocument } from "../runs/postgres/payload-document.ts";
import { toWeek } from "../runs/postgres/partitions.ts";
import { copiedRunsPlace, lastPlaceSql } from "../runs/postgres/run-places.ts";
import type { PostgresClient } from "../storage/postgres/postgres-client.ts";
import { PostgresDatabase } from "../storage/postgres/postgres-database.ts";
import { encodeText } from "../storage/postgres/text-encoding.ts";
import { quoteText } from "../storage/postgres/transaction.ts";
import type { PortableTable } from "./portable-tables.ts";
import type { PortablePayload, PortableRow, PortableValue } from "./portable-row.ts";
import { PostgresRows, toColumnValue } from "./postgres-rows.ts";
import { readRunFacets } from "./run-facets.ts";
import { toStoredValues } from "./tenant-rows.ts";
import type { NumberOffsets, RowTarget } from "./tenant-rows.ts";

/** Maximum number of parameters of a statement, and about the maximum number of its bytes. */
const maxParameters = 30_000;
const maxStatementBytes = 8_388_608;

/** Writes the rows of a tenant to PostgreSQL, in the transaction of the caller. */
export class PostgresTarget extends PostgresRows implements RowTarget {
  readonly #client: PostgresClient;
  readonly #tenantId: string;
  readonly #offsets: NumberOffsets;
  readonly #toConflictSql: (table: string) => string;
  readonly #sharedTexts: PostgresSharedTexts;
  #runCount = 0;

  /**
   * @param toConflictSql - returns, for a table, the SQL for rows that exist already; by default, such rows are an
   * error
   */
  constructor(
    client: PostgresClient,
    tenantId: string,
    {
      offsets,
      toConflictSql = () => "",
    }: {
      readonly offsets: NumberOffsets;
      readonly toConflictSql?: (table: string) => string;
    },
  ) {
    super(client);
    this.#client = client;
    this.#tenantId = tenantId;
    this.#offsets = offsets;
    this.#toConflictSql = toConflictSql;
    this.#sharedTexts = new PostgresSharedTexts(new PostgresDatabase(client));
  }

  toStored(row: PortableRow): PortableRow {
    return row;
  }

  async write(table: PortableTable, rows: readonly PortableRow[]): Promise<void> {
    if (table.name === "runs") {
      await this.writeRuns(
        table,
        rows,
        rows.map((_row, index) => copiedRunsPlace + this.#runCount + index + 1),
      );
      this.#runCount += rows.length;
      return;
    }
    const stored = rows.map((row) => this.#toValues(table, row));
    if (table.name === "attachments") {
      for (const values of stored) {
        await this.#insertAttachment(table, values);
      }
      return;
    }
    const extra = extraColumns(table.name);
    await this.#insert(
      table.name,
      [...table.columns, ...extra],
      stored.map((values) => [
        ...values,
        ...extra.map((column) => (column === "tenant_id" ? this.#tenantId : 0)),
      ]),
    );
  }

  /** Writes runs with their payloads, and what is derived from them. */
  async writeRuns(
    table: PortableTable,
    rows: readonly PortableRow[],
    places: readonly number[],
  ): Promise<void> {
    const runs = rows.map((row, index) => {
      const values = this.#toValues(table, row);
      const valueOf = (column: string) => row.values[table.columns.indexOf(column)];
      const facets = [
        ...new Set([
          ...createRowFacets({
            name: String(valueOf("name")),
            runType: String(valueOf("run_type")),
          }),
          ...readRunFacets(row.payloads ?? []),
        ]),
      ].map(encodeText);
      const key = [this.#tenantId, readRootTime(table, row), valueOf("trace_id"), valueOf("id")];
      return { values, key, facets, place: places[index], payloads: row.payloads ?? [] };
    });
    await this.#insert(
      "run_keys",
      ["tenant_id", "root_us", "trace_id", "id"],
      runs.map(({ key }) => key),
    );
    await this.#insert(
      "runs",
      [...table.columns, "tenant_id", "root_us", "facets", "place"],
      runs.map(({ values, key, facets, place }) => [
        ...values,
        this.#tenantId,
        key[1],
        facets,
        place,
      ]),
    );
    await this.#insertPayloads(
      runs.flatMap(({ key, payloads }) => payloads.map((payload) => ({ key, payload }))),
    );
    await this.#deriveFromRuns(runs.map(({ key }) => key[3]));
  }

  async finish(): Promise<void> {
    await this.indexExamples();
    await this.#client.exec(analyzeSharedTextsSql);
    // Rules are applied only to runs that arrive from now on.
    await this.#client.exec(
      `UPDATE rules SET from_row = ${lastPlaceSql} WHERE tenant_id = ${quoteText(this.#tenantId)}`,
    );
  }

  /** Indexes the words of examples, in the datasets that can be searched. */
  async indexExamples(): Promise<void> {
    const { rows } = await this.#client.run({
      text: "SELECT id, index_json FROM datasets WHERE tenant_id = $1 AND index_json IS NOT NULL",
      values: [this.#tenantId],
    });
    const index = new PostgresExampleTextIndex(new PostgresDatabase(this.#client));
    for (const row of rows) {
      const id = String(row["id"]);
      const { micros } = JSON.parse(String(row["index_json"])) as {
        readonly micros: number | null;
      };
      const lastKey = await index.begin(id);
      for (let afterKey: number | undefined = 0; afterKey !== undefined;) {
        afterKey = await index.extend(id, {
          afterKey,
          lastKey,
          versionTime: micros,
          limit: examplesPerStep,
        });
      }
    }
  }

  #toValues(table: PortableTable, row: PortableRow): PortableValue[] {
    const context = { tenantId: this.#tenantId, offsets: this.#offsets };
    return toStoredValues(table, row.values, context).map((value, index) => {
      const column = table.columns[index] ?? "";
      const stored = toColumnValue(table.name, column, value);
      if (typeof stored === "string" && stored.includes("\0")) {
        const key = table.key.map((name) => row.values[table.columns.indexOf(name)]);
        throw new ServerError(
          "BACKUP",
          `the column ${column} of the row ${JSON.stringify(key)} of ${table.name} contains the character NUL, which PostgreSQL can't store in a text: change the text on the server where the backup was made, and try again`,
        );
      }
      return stored;
    });
  }

  async #insertPayloads(
    payloads: readonly { readonly key: readonly unknown[]; readonly payload: PortablePayload }[],
  ): Promise<void> {
    const documents = payloads.map(({ payload }) => createDocument(payload.body));
    const stored = await this.#sharedTexts.store(
      this.#tenantId,
      payloads.map(({ payload: { body, shared } }, index) => ({
        body,
        // With a `document`, the payload is stored twice anyway, so sharing its texts would save little.
        texts: documents[index] === null ? toShareableTexts(body, shared) : [],
      })),
    );
    await this.#insert(
      "payloads",
      ["tenant_id", "root_us", "trace_id", "id", "digest", "document", "body", "parts"],
      stored.map(({ body, parts }, index) => [
        ...(payloads[index]?.key ?? []),
        payloads[index]?.payload.digest,
        documents[index],
        decodeUtf8(body),
        parts,
      ]),
    );
  }

  async #insertAttachment(table: PortableTable, values: readonly PortableValue[]): Promise<void> {
    const valueOf = (column: string) => values[table.columns.indexOf(column)];
    const { count } = await this.#client.run({
      text: `INSERT INTO attachments (tenant_id, root_us, trace_id, id, name, content_type, bytes)
        SELECT tenant_id, root_us, trace_id, id, $3::text, $4::text, $5::bytea FROM run_keys WHERE tenant_id = $1 AND id = $2`,
      values: [this.#tenantId, ...["id", "name", "content_type", "bytes"].map(valueOf)],
    });
    if (count !== 1) {
      throw new ServerError(
        "BACKUP",
        `an attachment belongs to the run ${String(valueOf("id"))}, which is missing`,
      );
    }
  }

  /** Inserts rows with as many statements as needed. */
  async #insert(
    table: string,
    columns: readonly string[],
    rows: readonly (readonly unknown[])[],
  ): Promise<void> {
    for (let start = 0; start < rows.length;) {
      let end = start;
      let bytes = 0;
      while (
        end < rows.length &&
        (end === start ||
          ((end - start + 1) * columns.length <= maxParameters && bytes < maxStatementBytes))
      ) {
        bytes += sizeOf(rows[end] ?? []);
        end += 1;
      }
      const part = rows.slice(start, end);
      const tuples = part.map(
        (_row, row) =>
          `(${columns.map((_column, column) => `$${row * columns.length + column + 1}`).join(", ")})`,
      );
      await this.#client.run({
        text: `INSERT INTO ${table} (${columns.join(", ")}) VALUES ${tuples.join(", ")} ${this.#toConflictSql(table)}`,
        values: part.flat(),
      });
      start = end;
    }
  }

  /**
   * Stores what is derived from the given runs: the facet values that the filter of each project suggests, and the time
   * at which each thread was last active.
   */
  async #deriveFromRuns(ids: readonly unknown[]): Promise<void> {
    const values = [this.#tenantId, ids];
    const facetsOfRuns = `FROM run_keys k JOIN runs r
        ON r.tenant_id = k.tenant_id AND r.trace_id = k.trace_id AND r.id = k.id AND r.root_us = k.root_us
      CROSS JOIN unnest(r.facets) f (facet) WHERE k.tenant_id = $1 AND k.id = ANY($2::text[])`;
    await this.#client.run({
      text: `INSERT INTO run_facets (tenant_id, project_id, facet)
        SELECT DISTINCT r.tenant_id, r.project_id, f.facet ${facetsOfRuns} ON CONFLICT DO NOTHING`,
      values,
    });
    await this.#client.run({
      text: `INSERT INTO threads (tenant_id, project_id, id, last_block)
        SELECT r.tenant_id, r.project_id, substr(f.facet, length(p.prefix) + 1), max(floor(r.start_us::numeric / ${blockMicros}))
        ${facetsOfRuns.replace(" WHERE", " JOIN unnest($3::text[]) p (prefix) ON starts_with(f.facet, p.prefix) WHERE")}
        GROUP BY 1, 2, 3
        ON CONFLICT (tenant_id, project_id, id) DO UPDATE SET last_block = excluded.last_block
          WHERE threads.last_block < excluded.last_block`,
      values: [...values, threadKeys.map((key) => createPairFacet(key, "") ?? "")],
    });
  }
}

/** Reads the start time of the root of a run's trace, which determines the partition of the run. */
function readRootTime(table: PortableTable, { values }: PortableRow): number {
  const valueOf = (column: string) => values[table.columns.indexOf(column)];
  return readRootMicros(String(valueOf("dotted_order"))) ?? Number(valueOf("start_us"));
}

/** Returns the week of a run. Partitions for this week must exist before the run is written. */
export const readWeek = (table: PortableTable, row: PortableRow): number =>
  toWeek(readRootTime(table, row));

const decodeUtf8 = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString("utf8");

/** Examples whose words are indexed at once. */
const examplesPerStep = 1_000;

/** The columns that are written in addition to those that are copied. */
const extraColumns = (table: string): readonly string[] => {
  const tenant = table === "settings" ? [] : ["tenant_id"];
  return table === "rules" ? [...tenant, "from_row"] : tenant;
};

/** About how many bytes the values of a row have. */
const sizeOf = (row: readonly unknown[]): number =>
  row.reduce<number>(
    (sum, value) =>
      sum + (typeof value === "string" || value instanceof Uint8Array ? value.length : 8),
    0,
  );

/** Numbers that are skipped, because servers may take some of them while a range is reserved. */
const reservedMargin = 100_000;

/**
 * Reserves numbers for a restored tenant, so that no server assigns them, and returns the offsets at which they begin.
 *
 * @param last - for each kind, the highest number in the rows to restore
 */
export async function reserveNumbers(
  client: PostgresClient,
  last: NumberOffsets,
): Promise<NumberOffsets> {
  return {
    examples:
      (await reserve(client, "'example_key_blocks'", Math.ceil(last.examples / keysPerBlock) + 1)) *
      keysPerBlock,
    exampleBlobs: await reserve(
      client,
      "pg_get_serial_sequence('example_blobs', 'key')",
      last.exampleBlobs,
    ),
    queueEntries: await reserve(
      client,
      "pg_get_serial_sequence('annotation_queue_runs', 'place')",
      last.queueEntries,
    ),
  };
}

/**
 * Reserves the next numbers of a sequence, and returns the first. The range begins {@link reservedMargin} numbers
 * later, because servers may take numbers before the sequence is set to the end of the range.
 */
async function reserve(client: PostgresClient, sequence: string, count: number): Promise<number> {
  if (count === 0) {
    return 0;
  }
  const { rows } = await client.run({
    text: `WITH n AS MATERIALIZED (SELECT nextval(${sequence}) + ${reservedMargin} AS first)
      SELECT first, setval(${sequence}, first + ${count}) FROM n`,
    values: [],
  });
  return Number(rows[0]?.["first"]);
}

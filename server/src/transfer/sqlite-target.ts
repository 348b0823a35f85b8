import { SqliteExampleTextIndex } from "../datasets/examples/sqlite/example-index.ts";
import { toPlaceSql } from "../datasets/examples/sqlite/example-place-tables.ts";
import { ServerError } from "../model/errors.ts";
import { MetricMarker } from "../metrics/sqlite/metric-marker.ts";
import { toShareableTexts } from "../runs/shared-texts/shared-ranges.ts";
import { SqliteSharedTexts } from "../runs/shared-texts/sqlite-shared-texts.ts";
import { FacetWriter } from "../runs/sqlite/facet-writer.ts";
import { computeChecksum } from "../storage/sqlite/checksum.ts";
import type { KeyKind } from "../storage/row-keys.ts";
import type { Connection } from "../storage/sqlite/connection.ts";
import { parseRows } from "../storage/sqlite/rows.ts";
import { TenantKeyWriter } from "../storage/sqlite/tenant-keys.ts";
import type { NumberSpace, PortableTable } from "./portable-tables.ts";
import type { PortableRow, PortableValue } from "./portable-row.ts";
import { readRunFacets } from "./run-facets.ts";
import { SqliteRows } from "./sqlite-rows.ts";
import { toStoredValues } from "./tenant-rows.ts";
import type { NumberOffsets, RowTarget } from "./tenant-rows.ts";

/** Writes the rows of a tenant to SQLite, in the transaction of the caller. */
export class SqliteTarget extends SqliteRows implements RowTarget {
  readonly #db: Connection;
  readonly #tenantId: string;
  readonly #offsets: NumberOffsets;
  readonly #keys: TenantKeyWriter;
  readonly #facets: FacetWriter;
  readonly #metrics: MetricMarker;
  readonly #sharedTexts: SqliteSharedTexts;
  /** The number of the last example that the database had before any row was written. */
  readonly #lastExample: number;

  constructor(db: Connection, tenantId: string, offsets: NumberOffsets) {
    super(db);
    this.#db = db;
    this.#tenantId = tenantId;
    this.#offsets = offsets;
    this.#keys = new TenantKeyWriter(db);
    this.#facets = new FacetWriter(db);
    this.#metrics = new MetricMarker(db);
    this.#lastExample = readLastNumber(db, "examples");
    this.#sharedTexts = new SqliteSharedTexts(db);
  }

  /**
   * PostgreSQL may contain halves of surrogate pairs. SQLite stores U+FFFD in their place, as it does when runs arrive.
   */
  toStored({ values, ...row }: PortableRow): PortableRow {
    return {
      ...row,
      values: values.map((value) => (typeof value === "string" ? value.toWellFormed() : value)),
    };
  }

  async write(table: PortableTable, rows: readonly PortableRow[]): Promise<void> {
    const insert = this.#db.prepare(createInsertSql(table));
    this.#facets.beginBatch();
    this.#metrics.beginBatch();
    for (const row of rows) {
      const values = this.#toKeys(
        table,
        toStoredValues(table, row.values, { tenantId: this.#tenantId, offsets: this.#offsets }),
      );
      insert.run([...values, ...this.#toExtraValues(table, values)]);
      if (table.name === "runs") {
        this.#addRun(table, values, row);
      }
    }
  }

  async finish(): Promise<void> {
    this.#db
      .prepare(
        `INSERT INTO example_places SELECT ${toPlaceSql("id")} AS place, key FROM examples WHERE key > ? ORDER BY place`,
      )
      .run([this.#lastExample]);
    const index = new SqliteExampleTextIndex(this.#db);
    const datasets = this.#db
      .prepare("SELECT id, index_json FROM datasets WHERE tenant_id = ? AND index_json IS NOT NULL")
      .raw();
    for (const [id, indexJson] of parseRows(datasets.all([this.#tenantId]))) {
      const { micros } = JSON.parse(String(indexJson)) as { readonly micros: number | null };
      const lastKey = index.begin(String(id));
      for (let afterKey: number | undefined = 0; afterKey !== undefined;) {
        afterKey = index.extend(String(id), {
          afterKey,
          lastKey,
          versionTime: micros,
          limit: examplesPerStep,
        });
      }
    }
    // Rules are applied only to runs that arrive from now on.
    this.#db
      .prepare(
        "UPDATE rules SET from_row = (SELECT coalesce(max(rowid), 0) FROM runs) WHERE tenant_id = ?",
      )
      .run([this.#tenantId]);
  }

  /** Replaces ids with the keys that this database has for them, as the server does. */
  #toKeys(table: PortableTable, values: PortableValue[]): PortableValue[] {
    return values.map((value, index) => {
      const column = table.columns[index] ?? "";
      const kind = findKind(table.name, column);
      if (kind === undefined || typeof value !== "string") {
        return value;
      }
      const key = this.#keys.keyOf(kind, this.#tenantId, value);
      return column === "id" && ownTables[table.name] !== undefined && this.#isTaken(table, key)
        ? this.#keys.assignQualifiedKey(kind, this.#tenantId, value)
        : key;
    });
  }

  #isTaken({ name }: PortableTable, key: string): boolean {
    return this.#db.prepareRaw(`SELECT 1 FROM ${name} WHERE id = ?`).all([key]).length > 0;
  }

  /** The values of the columns that only SQLite has. */
  #toExtraValues({ name, columns }: PortableTable, values: readonly PortableValue[]): unknown[] {
    if (name === "attachments") {
      const [id, fileName, type] = ["id", "name", "content_type"].map((column) =>
        String(values[columns.indexOf(column)]),
      );
      const bytes = values[columns.indexOf("bytes")] as Uint8Array;
      return [computeChecksum(bytes, String(id), String(fileName), String(type))];
    }
    if (name === "rules") {
      return [this.#tenantId, 0];
    }
    return hasTenant(name) ? [this.#tenantId] : [];
  }

  #addRun(
    table: PortableTable,
    values: readonly PortableValue[],
    { payloads = [] }: PortableRow,
  ): void {
    const valueOf = (column: string): PortableValue =>
      values[table.columns.indexOf(column)] ?? null;
    const row = {
      traceId: String(valueOf("trace_id")),
      id: String(valueOf("id")),
      projectId: String(valueOf("project_id")),
      name: String(valueOf("name")),
      runType: String(valueOf("run_type")),
      startMicros: Number(valueOf("start_us")),
      parentRunId: valueOf("parent_run_id") as string | null,
    };
    const { traceId, id } = row;
    for (const { digest, body, shared } of payloads) {
      const payload = { traceId, id, digest, body, checksum: computeChecksum(body, id) };
      const texts = toShareableTexts(body, shared);
      if (!this.#sharedTexts.insertPayload(this.#tenantId, payload, texts)) {
        throw new ServerError("BACKUP", `the run ${id} has the same payload twice`);
      }
    }
    this.#facets.add(row, readRunFacets(payloads));
    this.#metrics.mark(row.projectId, row.startMicros);
  }
}

/** Examples whose words are indexed at once. */
const examplesPerStep = 1_000;

/** The tables whose rows have keys that may differ from their ids. */
const ownTables: Readonly<Record<string, KeyKind>> = {
  runs: "run",
  projects: "project",
  datasets: "dataset",
};

const kindsOfIds: Readonly<Record<string, KeyKind>> = {
  ...ownTables,
  attachments: "run",
  shares: "run",
  trace_shares: "run",
};

const kindsOfColumns: Readonly<Record<string, KeyKind>> = {
  run_id: "run",
  project_id: "project",
  dataset_id: "dataset",
  reference_dataset_id: "dataset",
  default_dataset_id: "dataset",
};

/** The kind of the rows whose keys a column contains; `undefined` for all other columns. */
function findKind(table: string, column: string): KeyKind | undefined {
  if (column === "id") {
    return kindsOfIds[table];
  }
  // The runs to which a rule was applied are listed by their ids, not by their keys.
  return table === "rule_runs" && column === "run_id" ? undefined : kindsOfColumns[column];
}

const tablesWithoutTenant: ReadonlySet<string> = new Set([
  "runs",
  "attachments",
  "shares",
  "trace_shares",
  "thread_shares",
  "settings",
]);

const hasTenant = (table: string): boolean => !tablesWithoutTenant.has(table);

function createInsertSql({ name, columns }: PortableTable): string {
  const extra = [
    ...(name === "attachments" ? ["checksum"] : []),
    ...(hasTenant(name) ? ["tenant_id"] : []),
    ...(name === "rules" ? ["from_row"] : []),
  ];
  const names = [...columns, ...extra];
  return `INSERT INTO ${name} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`;
}

const numberColumns: Readonly<Record<NumberSpace, readonly [string, string]>> = {
  examples: ["examples", "key"],
  exampleBlobs: ["example_blobs", "key"],
  queueEntries: ["annotation_queue_runs", "place"],
};

function readLastNumber(db: Connection, space: NumberSpace): number {
  const [table, column] = numberColumns[space];
  return Number(
    db.prepare(`SELECT coalesce(max(${column}), 0) FROM ${table}`).raw().all().flat()[0],
  );
}

/** Returns offsets that put the numbers of a restored tenant after all numbers that the database has assigned. */
export const readSqliteOffsets = (db: Connection): NumberOffsets => ({
  examples: readLastNumber(db, "examples"),
  exampleBlobs: readLastNumber(db, "exampleBlobs"),
  queueEntries: readLastNumber(db, "queueEntries"),
});

import { parseBatch } from "../../src/runs/ingest/parse-batch.ts";
import { checkFilter } from "../../src/filter/checker.ts";
import type { CheckedFilter } from "../../src/filter/checker.ts";
import { runFields } from "../../src/filter/fields.ts";
import type { RunFilter } from "../../src/runs/run-query.ts";
import { createReaders, createWriters } from "../../src/store/repositories.ts";
import { parseRows } from "../../src/storage/sqlite/rows.ts";
import { toConditions } from "../../src/runs/sqlite/run-conditions.ts";
import { openWriter } from "../../src/store/schema.ts";
import { readDefaultTenantId } from "../../src/storage/sqlite/open-database.ts";
import type { Connection } from "../../src/storage/sqlite/connection.ts";
import { toRunJson } from "../../src/runs/serializers/run-json.ts";
import { loadLibraryPrices } from "../../src/prices/library-prices.ts";
import type { WireObject } from "./store-fixture.ts";

// A server loads the prices before it stores runs.
await loadLibraryPrices();

/** Runs in an in-memory database on this thread: reader and writer of the engine without its threads. */
export class FilterFixture {
  readonly db: Connection = openWriter(":memory:");
  readonly readers = createReaders(this.db);
  readonly writers = createWriters(this.db);
  readonly tenantId = readDefaultTenantId(this.db);

  send(batch: { post?: readonly unknown[]; patch?: readonly unknown[] }, tenantId = this.tenantId) {
    return this.sendText(JSON.stringify(batch), tenantId);
  }

  /** Sends a batch as JSON text, for content that `JSON.stringify` would not write. */
  sendText(json: string, tenantId = this.tenantId) {
    return this.writers.runs.apply(tenantId, parseBatch(Buffer.from(json)).batch);
  }

  /** Names of the runs that a filter finds, sorted. */
  find(filter: string): string[] {
    return this.query({ runFilters: [this.check(filter)] });
  }

  check(filter: string): CheckedFilter {
    return checkFilter(filter, runFields);
  }

  /** The query plan of SQLite for a filter. */
  explain(filter: string, rest: RunFilter): string {
    const { sql, values } = toConditions(this.tenantId, {
      ...rest,
      runFilters: [this.check(filter)],
    });
    const rows = this.db
      .prepare(
        `EXPLAIN QUERY PLAN SELECT r.id FROM runs r WHERE ${sql} ORDER BY r.start_us DESC, r.id DESC`,
      )
      .raw()
      .all([...values]);
    return parseRows(rows)
      .map((row) => row.at(-1))
      .join("\n");
  }

  query(filter: RunFilter): string[] {
    const page = this.readers.runs.query(this.tenantId, {
      filter,
      order: "asc",
      limit: 1_000,
      withChildren: false,
    });
    return page.runs.map(({ row }) => row.name).toSorted();
  }

  /** Every run, as it is read back. */
  runs(): WireObject[] {
    const page = this.readers.runs.query(this.tenantId, {
      filter: {},
      order: "asc",
      limit: 1_000,
      withChildren: false,
    });
    return page.runs.map((run) => JSON.parse(toRunJson(run).toString()) as WireObject);
  }
}

import { parseBatch } from "../../src/ingest/parse-batch.ts";
import { checkFilter } from "../../src/filter/checker.ts";
import { runFields } from "../../src/filter/fields.ts";
import type { RunFilter } from "../../src/store/run-query.ts";
import { createReaders, createWriters } from "../../src/store/sqlite/nouns.ts";
import { openWriter, readDefaultTenantId } from "../../src/store/sqlite/schema.ts";
import { toRunJson } from "../../src/view/run-json.ts";
import type { WireObject } from "./store-desk.ts";

/** Runs in a database in memory, on this thread: reader and writer of the engine without its threads. */
export class FilterDesk {
  readonly db = openWriter(":memory:");
  readonly readers = createReaders(this.db);
  readonly writers = createWriters(this.db);
  readonly tenantId = readDefaultTenantId(this.db);

  send(batch: { post?: readonly unknown[]; patch?: readonly unknown[] }, tenantId = this.tenantId) {
    return this.sendText(JSON.stringify(batch), tenantId);
  }

  /** A batch as its JSON text, for what `JSON.stringify` would not write. */
  sendText(json: string, tenantId = this.tenantId) {
    return this.writers.runs.apply(tenantId, parseBatch(Buffer.from(json)).batch);
  }

  /** Names of the runs that a filter finds, sorted. */
  find(filter: string): string[] {
    return this.query({ runFilters: [checkFilter(filter, runFields)] });
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

  /** Every run, as it is read. */
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

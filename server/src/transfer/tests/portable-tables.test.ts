import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PgliteClient } from "../../../tests/support/repository-engines.ts";
import { openWriter } from "../../store/schema.ts";
import {
  derivedTables,
  payloadColumns,
  portableTables,
  specialTables,
} from "../portable-tables.ts";

// A new table, and a new column, must be copied or be named as one that is computed.

type Columns = ReadonlyMap<string, readonly string[]>;

function readSqliteTables(): Columns {
  const db = openWriter(":memory:");
  const rows = db
    .prepare(
      `SELECT m.name, group_concat(c.name) FROM sqlite_master m JOIN pragma_table_info(m.name) c
       WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
         AND m.name NOT GLOB 'example_texts_*' GROUP BY 1`,
    )
    .raw()
    .all() as readonly (readonly string[])[];
  db.close();
  return new Map(rows.map(([name = "", columns = ""]) => [name, columns.split(",")]));
}

/** Columns that an engine has besides those that are copied. */
const ownColumns: Readonly<
  Record<"sqlite" | "postgres", Readonly<Record<string, readonly string[]>>>
> = {
  sqlite: {
    // How a payload is divided into texts is decided by the database that stores it.
    payloads: ["trace_id", "id", "checksum", "parts"],
    attachments: ["checksum"],
  },
  postgres: {
    payloads: ["root_us", "trace_id", "id", "seq", "document", "parts"],
    runs: ["root_us", "facets", "place", "changed"],
    attachments: ["root_us"],
  },
};

function expectComplete(engine: "sqlite" | "postgres", found: Columns): void {
  const known = [
    ...portableTables.map(({ name }) => name),
    ...Object.keys(specialTables),
    ...derivedTables[engine],
  ];
  expect([...found.keys()].toSorted()).toEqual(known.toSorted());
  const copied = [
    ...portableTables,
    { name: "payloads", columns: payloadColumns, key: [], localColumns: [] },
  ];
  for (const { name, columns, localColumns = [] } of copied) {
    const expected = [...columns, ...localColumns, ...(ownColumns[engine][name] ?? [])];
    const present = (found.get(name) ?? []).filter((column) => column !== "tenant_id");
    expect([name, present.toSorted()]).toEqual([name, expected.toSorted()]);
  }
}

test("the list of tables that are copied names every table and column of SQLite", () => {
  expectComplete("sqlite", readSqliteTables());
});

describe("the list of tables that are copied", () => {
  let client: PgliteClient;
  beforeAll(async () => {
    client = await PgliteClient.createMigrated();
  });
  afterAll(() => client.close());

  test("names every table and column of PostgreSQL", async () => {
    const { rows } = await client.run({
      text: `SELECT c.relname AS name, string_agg(a.attname, ',') AS columns FROM pg_class c
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition GROUP BY 1`,
      values: [],
    });
    expectComplete(
      "postgres",
      new Map(rows.map(({ name, columns }) => [String(name), String(columns).split(",")])),
    );
  });

  test("has keys that are columns, and names existing columns where it lists wide tables and numbers", () => {
    for (const { name, columns, key, numbers = {} } of portableTables) {
      expect([
        name,
        [...key, ...Object.keys(numbers)].filter((column) => !columns.includes(column)),
      ]).toEqual([name, []]);
    }
  });
});

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PgliteClient } from "../../../../tests/support/repository-engines.ts";
import { migrate, readFormat } from "../../../storage/postgres/migrations.ts";
import { openWriter } from "../../schema.ts";
import { postgresFormats } from "../formats.ts";

/** Tables that SQLite alone needs: keys for ids of several tenants, and indexes that PostgreSQL has itself. */
const onlySqlite = [/^sqlite_/, /^tenant_keys$/, /^example_places/, /^example_texts_/];

/** Tables of runs are written for each engine. */
const tablesOfRuns =
  /^(?:runs|payloads|attachments|spans|run_\w+|metrics|metric_marks|experiment_versions|text_\w+|shared_\w+)$/;

describe("the tables of a PostgreSQL database", () => {
  let client: PgliteClient;
  beforeAll(async () => {
    client = await PgliteClient.createMigrated();
  });
  afterAll(() => client.close());

  const readColumns = async (): Promise<ReadonlyMap<string, readonly string[]>> => {
    const { rows } = await client.run({
      text: `SELECT table_name AS "table", string_agg(column_name, ',') AS columns FROM information_schema.columns
        WHERE table_schema = 'public' GROUP BY 1`,
      values: [],
    });
    return new Map(rows.map(({ table, columns }) => [String(table), String(columns).split(",")]));
  };

  test("have the columns of SQLite's tables", async () => {
    const columnsOfPostgres = await readColumns();
    const db = openWriter(":memory:");
    const tables = db
      .prepare("SELECT name FROM sqlite_master WHERE type = 'table'")
      .raw()
      .all()
      .flat()
      .map(String)
      .filter((name) => !tablesOfRuns.test(name) && !onlySqlite.some((part) => part.test(name)));
    const missing = tables.flatMap((table) =>
      db
        .prepare(`SELECT name FROM pragma_table_info('${table}')`)
        .raw()
        .all()
        .flat()
        .map(String)
        // The text index of PostgreSQL stores words in place of a text.
        .filter((column) => `${table}.${column}` !== "example_texts.text")
        .filter((column) => columnsOfPostgres.get(table)?.includes(column) !== true)
        .map((column) => `${table}.${column}`),
    );
    db.close();
    expect(tables.length).toBeGreaterThan(25);
    expect(missing).toEqual([]);
  });

  test("are protected by row-level security wherever they belong to a tenant", async () => {
    const { rows } = await client.run({
      text: `SELECT c.relname AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id'
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
        AND NOT (c.relrowsecurity AND c.relforcerowsecurity
          AND EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid AND p.polname = 'own_tenant'))`,
      values: [],
    });
    expect(rows).toEqual([]);
  });

  test("belong to tenants, except those of the whole database", async () => {
    const withoutTenant = [...(await readColumns())]
      .filter(([, columns]) => !columns.includes("tenant_id"))
      .map(([table]) => table)
      .filter((table) => !tablesOfRuns.test(table));
    expect(withoutTenant.toSorted()).toEqual([
      "formats",
      "rule_cursor",
      "rule_open_roots",
      "settings",
      "tenants",
    ]);
  });

  test("compare texts by bytes, but for those that are only read and written", async () => {
    const { rows } = await client.run({
      text: `SELECT table_name || '.' || column_name AS "column" FROM information_schema.columns
        WHERE table_schema = 'public' AND data_type = 'text' AND collation_name IS DISTINCT FROM 'C'
        AND column_name NOT IN ('value', 'body', 'document')`,
      values: [],
    });
    expect(rows).toEqual([]);
  });

  test("are migrated from each earlier format", async () => {
    // A schema for each, because a database for each would take seconds to start.
    const earlier = await PgliteClient.create();
    for (let format = 0; format < postgresFormats.length; format += 1) {
      await earlier.exec(`CREATE SCHEMA format_${format}; SET search_path = format_${format}`);
      if (format > 0) {
        await migrate(earlier, postgresFormats.slice(0, format));
        await earlier.exec("INSERT INTO tenants VALUES ('kept', NULL, '\"t\"', 1)");
      }
      await migrate(earlier, postgresFormats);
      expect(await readFormat(earlier)).toBe(postgresFormats.length);
      const { rows } = await earlier.run({ text: "SELECT id FROM tenants", values: [] });
      expect(rows).toEqual(format > 0 ? [{ id: "kept" }] : []);
    }
    await earlier.close();
  });
});

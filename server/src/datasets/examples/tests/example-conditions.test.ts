import { expect, test } from "vitest";
import { SqliteDatabase } from "../../../storage/sqlite/sqlite-database.ts";
import { tokenKeysOf } from "../../../storage/sqlite/token-keys.ts";
import { openWriter } from "../../../store/schema.ts";
import { SqliteExampleSearch } from "../sqlite/text-search.ts";
import type { ExampleFilter } from "../example.ts";
import { ExampleReader } from "../example-reader.ts";

/** A dataset with one example for each entry: its id is the key, its metadata the value. */
function openReader(metadata: Readonly<Record<string, string>>): ExampleReader {
  const connection = openWriter(":memory:");
  connection.exec(`INSERT INTO datasets (id, tenant_id, name_json, created_us, modified_us, example_count, is_ready, body)
    VALUES ('d', 't', '"d"', 1, 1, 0, 1, '{}')`);
  const insert = connection.prepare(
    `INSERT INTO examples (tenant_id, dataset_id, id, position, created_us, from_us, inputs, metadata)
     VALUES ('t', 'd', ?, 1, 1, 1, '{}', ?)`,
  );
  for (const [id, json] of Object.entries(metadata)) {
    insert.run([id, json]);
  }
  const db = new SqliteDatabase(connection);
  const engine = { tokenCipher: tokenKeysOf(connection), search: new SqliteExampleSearch(db) };
  return new ExampleReader(db, engine);
}

const deep = `{"env":"prod","dataset_split":["base"],"deep":${"[".repeat(1_500)}${"]".repeat(1_500)}}`;
const flat = '{"env":"prod","dataset_split":["base","train"]}';

test("metadata nested deeper than SQLite can parse is skipped, and does not fail the query for other rows", async () => {
  const reader = openReader({ deep, flat, list: "[1]" });
  const listIds = async (
    filter: Omit<ExampleFilter, "versionTime">,
  ): Promise<readonly string[]> => {
    const found = await reader.list("t", {
      filter: { versionTime: null, ...filter },
      order: "id",
      isDescending: false,
      seed: 0,
      limit: 10,
      offset: 0,
    });
    return found.map(({ id }) => id);
  };
  expect(await listIds({ metadata: { env: "prod" } })).toEqual(["flat"]);
  expect(await listIds({ metadata: {} })).toEqual(["flat"]);
  expect(await listIds({ splits: ["base"] })).toEqual(["flat"]);
  expect(await reader.listSplits("t", "d", null)).toEqual(["base", "train"]);
});

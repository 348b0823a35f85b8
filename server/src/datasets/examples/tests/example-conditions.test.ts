import { expect, test } from "vitest";
import { ExampleReader } from "../sqlite/example-reader.ts";
import { toExampleConditions } from "../sqlite/example-conditions.ts";
import { openWriter } from "../../../store/schema.ts";
import type { ExampleFilter } from "../example.ts";

/** One row for each entry: its id is the key, its metadata the value. */
function examplesWith(metadata: Readonly<Record<string, string>>) {
  const db = openWriter(":memory:");
  const insert = db.prepare(
    `INSERT INTO examples (tenant_id, dataset_id, id, position, created_us, from_us, inputs, metadata)
     VALUES ('t', 'd', ?, 1, 1, 1, '{}', ?)`,
  );
  for (const [id, json] of Object.entries(metadata)) {
    insert.run([id, json]);
  }
  return {
    db,
    find: (filter: Omit<ExampleFilter, "moment">): unknown => {
      const { sql, values } = toExampleConditions("t", { moment: null, ...filter });
      const found = db.prepare(`SELECT e.id FROM examples e WHERE ${sql} ORDER BY e.id`).raw();
      return found.all([...values]).flat();
    },
  };
}

const deep = `{"env":"prod","dataset_split":["base"],"deep":${"[".repeat(1_500)}${"]".repeat(1_500)}}`;
const flat = '{"env":"prod","dataset_split":["base","train"]}';

test("metadata nested deeper than SQLite can parse is skipped, and does not fail the query for other rows", () => {
  const { db, find } = examplesWith({ deep, flat, list: "[1]" });
  expect(find({ metadata: { env: "prod" } })).toEqual(["flat"]);
  expect(find({ metadata: {} })).toEqual(["flat"]);
  expect(find({ splits: ["base"] })).toEqual(["flat"]);
  expect(new ExampleReader(db).listSplits("t", "d", null)).toEqual(["base", "train"]);
});

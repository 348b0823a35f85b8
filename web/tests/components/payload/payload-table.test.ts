import { expect, test } from "vitest";
import { toTable } from "../../../src/components/payload/payload-table.ts";

test("a list of objects has a column for each member, and a dash where one is absent", () => {
  expect(
    toTable([
      { title: "Orders", score: 0.9 },
      { title: "Returns", tags: ["a"] },
    ]),
  ).toEqual({
    columns: ["title", "score", "tags"],
    rows: [
      ["Orders", "0.9", undefined],
      ["Returns", undefined, '["a"]'],
    ],
    rowCount: 2,
  });
});

test("an object is a table if exactly one of its members is a list of objects", () => {
  expect(toTable({ query: "tent", documents: [{ id: 1 }] })?.key).toBe("documents");
  expect(toTable({ a: [{ id: 1 }], b: [{ id: 2 }] })).toBeUndefined();
  expect(toTable({ a: [1, 2] })).toBeUndefined();
  expect(toTable([])).toBeUndefined();
});

test("of a long list the first 500 rows are shown, of wide ones 30 columns, of long texts the beginning", () => {
  const wide = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`c${index}`, index]));
  const table = toTable(Array.from({ length: 900 }, () => ({ text: "x".repeat(5_000), ...wide })));
  expect([table?.rows.length, table?.rowCount, table?.columns.length]).toEqual([500, 900, 30]);
  expect(table?.rows[0]?.[0]).toHaveLength(301);
});

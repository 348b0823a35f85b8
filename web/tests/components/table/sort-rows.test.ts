import { expect, test } from "vitest";
import type { Column } from "../../../src/components/table/data-table-columns.ts";
import { sortRows } from "../../../src/components/table/complete-sort.ts";

interface Fruit {
  readonly name: string;
  readonly weight: number | undefined;
}

const columns: readonly Column<Fruit>[] = [
  { id: "name", title: "Name", renderCell: () => "", width: 80, sortValue: ({ name }) => name },
  { id: "weight", title: "", renderCell: () => "", width: 80, sortValue: ({ weight }) => weight },
  { id: "colour", title: "Colour", renderCell: () => "", width: 80 },
];
const rows: readonly Fruit[] = [
  { name: "fruit 10", weight: 3 },
  { name: "fruit 9", weight: undefined },
  { name: "fruit 1", weight: 7 },
  { name: "fruit 2", weight: 3 },
];

const namesBy = (column: string, order: "asc" | "desc"): string[] =>
  sortRows(rows, columns, { column, order }).map(({ name }) => name.slice(6));

test("rows are sorted by a column; equal rows keep the order of the server", () => {
  expect(namesBy("name", "asc")).toEqual(["1", "2", "9", "10"]);
  expect(namesBy("name", "desc")).toEqual(["10", "9", "2", "1"]);
  expect(namesBy("weight", "desc")).toEqual(["1", "10", "2", "9"]);
});

test("rows without a value come last in either order", () => {
  expect(namesBy("weight", "asc")).toEqual(["10", "2", "1", "9"]);
  expect(namesBy("weight", "desc").at(-1)).toBe("9");
});

test("without a chosen column that sorts, the order is that of the server", () => {
  expect(sortRows(rows, columns, undefined)).toBe(rows);
  expect(namesBy("colour", "asc")).toEqual(["10", "9", "1", "2"]);
});

import { expect, test } from "vitest";
import {
  moveColumn,
  parseColumnLayout,
  defaultLayout,
  toColumnOrder,
} from "../../../src/components/table/column-layout.ts";
import { toggleRow } from "../../../src/components/table/row-selection.ts";

const ids = ["name", "status", "start", "tags"];

test("a stored layout is read back; an invalid one is replaced by the default", () => {
  const layout = { order: ["tags", "name"], shown: { start: false }, widths: { name: 220 } };
  expect(parseColumnLayout(JSON.stringify(layout))).toEqual(layout);
  for (const text of [null, "", "{", "null", "[]", '{"order":{},"shown":[1],"widths":"x"}']) {
    expect(parseColumnLayout(text)).toEqual(defaultLayout);
  }
});

test("stored widths are limited", () => {
  const { widths } = parseColumnLayout('{"widths":{"a":1,"b":1e9,"c":120.4,"d":"wide"}}');
  expect(widths).toEqual({ a: 48, b: 1_600, c: 120 });
});

test("a column that the layout lacks keeps its default position", () => {
  const layout = { ...defaultLayout, order: ["tags", "gone", "name", "status"] };
  expect(toColumnOrder(ids, layout)).toEqual(["tags", "name", "status", "start"]);
  expect(toColumnOrder(ids, defaultLayout)).toEqual(ids);
});

test("a column moves before another one, or to the end", () => {
  expect(moveColumn(defaultLayout, ids, { id: "tags", before: "status" }).order).toEqual([
    "name",
    "tags",
    "status",
    "start",
  ]);
  expect(moveColumn(defaultLayout, ids, { id: "name", before: undefined }).order.at(-1)).toBe(
    "name",
  );
  expect(moveColumn(defaultLayout, ids, { id: "name", before: "name" })).toBe(defaultLayout);
});

test("all rows of a range get the new state of its last row", () => {
  const on = toggleRow(new Set(["name"]), { ids, id: "tags", anchor: "status", isRange: true });
  expect([...on].toSorted()).toEqual(["name", "start", "status", "tags"]);
  const off = toggleRow(on, { ids, id: "status", anchor: "tags", isRange: true });
  expect([...off]).toEqual(["name"]);
});

test("a range from a row that no longer exists is only the clicked row", () => {
  const on = toggleRow(new Set(), { ids, id: "tags", anchor: "gone", isRange: true });
  expect([...on]).toEqual(["tags"]);
});

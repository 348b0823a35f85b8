import { describe, expect, test } from "vitest";
import {
  canOpen,
  describeConditions,
  describeList,
  parseViews,
  showsView,
  toListQuery,
  toViewSearch,
} from "../../../src/features/runs/saved-views/view.ts";

const wireView = {
  id: "8a1c3c70-0000-4000-8000-000000000001",
  session_id: "8a1c3c70-0000-4000-8000-000000000002",
  display_name: "slow",
  description: null,
  filter_string: "gt(latency, 5)",
  trace_filter_string: null,
  tree_filter_string: null,
  created_at: "2026-03-01T12:00:00+00:00",
  updated_at: "2026-03-01T12:00:01+00:00",
};

describe("a view of the server", () => {
  test("has the conditions that are not null", () => {
    expect(parseViews([wireView])).toEqual([
      {
        id: wireView.id,
        name: "slow",
        description: "",
        filter: "gt(latency, 5)",
        list: {},
        modifiedMs: Date.parse("2026-03-01T12:00:01Z"),
      },
    ]);
  });

  test.each([{}, [{ ...wireView, display_name: 3 }], [{ ...wireView, id: undefined }], ["view"]])(
    "is rejected if it is malformed: %j",
    (value) => {
      expect(() => parseViews(value)).toThrow(TypeError);
    },
  );
});

test("the run list can open a view unless it has a condition on other runs of the trace", () => {
  const filters = [
    {},
    { filter_string: null },
    { trace_filter_string: "eq(name, 'ask')" },
    { tree_filter_string: "eq(name, 'ask')" },
  ];
  const views = parseViews(filters.map((filter) => ({ ...wireView, ...filter })));
  expect(views.map(canOpen)).toEqual([true, true, false, false]);
});

test("a list that was opened with a view shows it until its filter or its state is changed", () => {
  const [view] = parseViews([{ ...wireView, list_query: "last=7d&sort=latency-desc&all=true" }]);
  const search = toViewSearch(view!);
  expect(search).toEqual({
    view: wireView.id,
    filter: "gt(latency, 5)",
    last: "7d",
    sort: "latency-desc",
    all: true,
  });
  expect(showsView(view!, search)).toBe(true);
  const { all: _all, ...rootsOnly } = search;
  for (const changed of [
    { ...search, filter: "x" },
    { ...search, last: "1d" as const },
    rootsOnly,
  ]) {
    expect(showsView(view!, changed)).toBe(false);
  }
  const [empty] = parseViews([{ ...wireView, filter_string: null }]);
  expect(toViewSearch(empty!)).toEqual({ view: wireView.id });
  expect(showsView(empty!, {})).toBe(true);
});

test("the conditions of a view are described with the runs that they apply to", () => {
  const all = { trace_filter_string: "eq(name, 'ask')", tree_filter_string: "eq(error, true)" };
  const none = { filter_string: null };
  expect(
    parseViews([
      { ...wireView, ...all },
      { ...wireView, ...none },
    ]).map(describeConditions),
  ).toEqual(["latency > 5; root run: name = ask; any run of the trace: error = true", ""]);
});

test.each([
  [{}, ""],
  [{ all: true, last: "7d", sort: "latency-desc" }, "all runs, last 7 days, slowest first"],
  [{ sort: "start-asc" }, "oldest first"],
] as const)("the state of the list is stored and described: %j", (list, text) => {
  const [view] = parseViews([{ ...wireView, list_query: toListQuery(list) }]);
  expect(view?.list).toEqual(list);
  expect(describeList(list)).toBe(text);
});

test("what a stored state has that the list does not know is left out", () => {
  const [view] = parseViews([{ ...wireView, list_query: "all=yes&last=5w&sort=cost&from=x" }]);
  expect(view?.list).toEqual({});
});

import { expect, test } from "vitest";
import { toNextRow } from "../../../src/components/keyboard/next-row.ts";
import { parseProjects } from "../../../src/features/projects/project.ts";
import { parseRunDetails } from "../../../src/features/runs/run.ts";
import { parseRunsSearch } from "../../../src/features/trace/project-search.ts";

const id = "01a1fdd6-4f66-7780-95ba-dad9c9386eb3";

test("an address selects by ids alone", () => {
  expect(parseRunsSearch({ trace: id, run: "<script>" })).toEqual({ trace: id });
  expect(parseRunsSearch({ trace: 5, run: id })).toEqual({});
});

test("a run with odd fields is read as far as it is one", () => {
  const run = { id, start_time: 5, name: 7, tags: "x", events: {}, extra: [], status: "odd" };
  expect(parseRunDetails(run)).toMatchObject({
    name: "",
    status: "pending",
    tags: [],
    events: [],
    metadata: {},
  });
});

test("a run shows the first line of its error, and all of it", () => {
  const run = parseRunDetails({ id, start_time: 1, error: "Error: x\n  at y" });
  expect(run).toMatchObject({ errorLine: "Error: x", error: "Error: x\n  at y" });
});

test("a project without a tenant is refused", () => {
  expect(() => parseProjects([{ id, name: "x" }])).toThrow(/without id, tenant or name/);
});

test("keys move within the list and no further", () => {
  const at = (current: number) => ({ current, count: 20, page: 10 });
  expect(toNextRow("ArrowDown", at(19))).toBe(19);
  expect(toNextRow("ArrowUp", at(0))).toBe(0);
  expect(toNextRow("PageDown", at(3))).toBe(13);
  expect(toNextRow("PageUp", at(3))).toBe(0);
  expect(toNextRow("End", at(3))).toBe(19);
  expect(toNextRow("Home", at(3))).toBe(0);
  expect(toNextRow("x", at(3))).toBeUndefined();
});

import { expect, test } from "vitest";
import { parseRunsSearch } from "../../../src/features/trace/project-search.ts";

const id = "01a1fdd6-4f66-7780-95ba-dad9c9386eb3";

test("a URL selects only by valid ids", () => {
  expect(parseRunsSearch({ trace: id, run: "<script>" })).toEqual({ trace: id });
  expect(parseRunsSearch({ trace: 5, run: id })).toEqual({});
});

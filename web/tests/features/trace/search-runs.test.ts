import { expect, test } from "vitest";
import { searchRuns } from "../../../src/features/trace/search-runs.ts";
import { idOf, modelOf, numbersOf } from "../../support/trace.ts";

const model = modelOf([
  { id: 1, name: "Travel\nassistant" },
  { id: 3, parent: 1, start: 9, name: "answer", type: "llm" },
  { id: 2, parent: 1, start: 5, name: "plan the answer", type: "LLM" },
]);

const find = (text: string) => numbersOf(model, searchRuns(model, text));

test("names and types are searched ignoring case, with results in tree order", () => {
  expect(find("ANSWER")).toEqual([2, 3]);
  expect(find("llm")).toEqual([2, 3]);
  expect(find(" travel ")).toEqual([1]);
  expect(find("nowhere")).toEqual([]);
});

test("a run with several matches is found once, and an empty search finds nothing", () => {
  expect(find("a")).toEqual([1, 2, 3]);
  expect(find("")).toEqual([]);
  expect(find("assistant\nplan")).toEqual([]);
});

test("an id finds only its run", () => {
  expect(find(idOf(3))).toEqual([3]);
});

import { expect, test } from "vitest";
import { parseRunDetails } from "../../../src/features/runs/run.ts";

const id = "01a1fdd6-4f66-7780-95ba-dad9c9386eb3";

test("a run with invalid fields is parsed without them", () => {
  const run = { id, start_time: 5, name: 7, tags: "x", events: {}, extra: [], status: "odd" };
  expect(parseRunDetails(run)).toMatchObject({
    name: "",
    status: "pending",
    tags: [],
    events: [],
    metadata: {},
  });
});

test("a run has its whole error and the first line of it", () => {
  const run = parseRunDetails({ id, start_time: 1, error: "Error: x\n  at y" });
  expect(run).toMatchObject({ errorLine: "Error: x", error: "Error: x\n  at y" });
});

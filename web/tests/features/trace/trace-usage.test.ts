import { expect, test } from "vitest";
import { sumSubtrees } from "../../../src/features/trace/trace-usage.ts";
import { modelOf } from "../../support/trace.ts";

test("tokens and costs of model calls are summed up the tree; other runs' own usage is not", () => {
  const model = modelOf([
    { id: 1, tokens: 99, end: 100 },
    { id: 2, parent: 1, end: 50 },
    { id: 3, parent: 2, type: "llm", tokens: 10, promptCost: 0.5 },
    { id: 4, parent: 2, type: "embedding", tokens: 5 },
    { id: 5, parent: 1, type: "llm", tokens: 1, promptCost: 0.25 },
  ]);
  const { tokens, costs } = sumSubtrees(model);
  expect([...tokens]).toEqual([16, 15, 10, 5, 1]);
  expect([...costs]).toEqual([0.75, 0.5, 0.5, 0, 0.25]);
});

import { MantineProvider } from "@mantine/core";
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";
import { CompareSummary } from "../../../src/features/experiments/comparison/compare-summary.tsx";
import { parseComparison } from "../../../src/features/experiments/comparison/comparison.ts";

afterEach(cleanup);

const noChanges = { better: 0, worse: 0, same: 0 };
const scores = (changes: object) => ({ mean: 1, count: 2, ...changes, bins: [] });
const page = parseComparison({
  total: 2,
  matching: 2,
  experiments: ["old", "new"].map((id) => ({ id, example_count: 2, run_count: 2, error_count: 0 })),
  keys: [
    {
      key: "shared",
      min: 1,
      max: 1,
      experiments: { old: scores(noChanges), new: scores({ ...noChanges, same: 2 }) },
    },
    { key: "added", min: 1, max: 1, experiments: { new: scores(noChanges) } },
  ],
  rows: [],
});

test("wins are counted only for the scores that an experiment shares with the baseline", () => {
  render(
    <MantineProvider withCssVariables={false}>
      <CompareSummary
        context={{
          experimentIds: ["old", "new"],
          baselineId: "old",
          names: new Map(),
          lowerIsBetterKeys: new Set(),
          tenantId: "t",
        }}
        page={page}
        chartedName={undefined}
      />
    </MantineProvider>,
  );
  const row = screen.getByRole("row", { name: /^new/ });
  const readCell = (title: string) => row.querySelector(`[data-title="${title}"]`)?.textContent;
  expect(readCell("shared")).toContain("0 better, 0 worse, 2 same · win rate –");
  expect(readCell("added")).toBe("1");
});

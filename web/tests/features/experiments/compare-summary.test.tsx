import { MantineProvider } from "@mantine/core";
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";
import { CompareSummary } from "../../../src/features/experiments/comparison/compare-summary.tsx";
import { parseComparison } from "../../../src/features/experiments/comparison/comparison.ts";
import { parseExperiments } from "../../../src/features/experiments/experiment.ts";
import type { Experiment } from "../../../src/features/experiments/experiment.ts";

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

/** Renders the summary, and returns how to read a cell of the row of the experiment `new`. */
function renderSummary(statistics: ReadonlyMap<string, Experiment>) {
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
        statistics={statistics}
        chartedName={undefined}
      />
    </MantineProvider>,
  );
  const row = screen.getByRole("row", { name: /^new/ });
  return (title: string) => row.querySelector(`[data-title="${title}"]`)?.textContent;
}

test("wins are counted only for the scores that an experiment shares with the baseline", () => {
  const readCell = renderSummary(new Map());
  expect(readCell("shared")).toContain("0 better, 0 worse, 2 same · – win rate");
  expect(readCell("added")).toBe("1");
});

test("latency, tokens and cost are those of the experiment list", () => {
  const statistics = parseExperiments([
    { id: "old", name: "old", total_cost: "0.0146" },
    { id: "new", name: "new", latency_p50: 1.25, total_tokens: 3210, total_cost: "9.3" },
  ]);
  const readCell = renderSummary(new Map(statistics.map((one) => [one.id, one])));
  expect(readCell("p50 latency")).toBe("1.25 s");
  expect(readCell("Tokens")).toBe("3,210");
  // As many digits as the cost of the other experiment needs.
  expect(readCell("Cost")).toBe("$9.300");
});

test("what is not loaded yet is a dash", () => {
  const readCell = renderSummary(new Map());
  expect(["p50 latency", "Tokens", "Cost"].map(readCell)).toEqual(["–", "–", "–"]);
});

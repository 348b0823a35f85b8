import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";
import { parseRunDetails } from "../../../src/features/runs/run.ts";
import { parseRunCost } from "../../../src/features/trace/run-panel/run-cost.ts";
import { TimingTab } from "../../../src/features/trace/run-panel/timing-tab.tsx";
import { computeFullRange } from "../../../src/features/trace/time-scale.ts";
import { idOf, modelOf } from "../../support/trace.ts";
import type { Item } from "../../support/trace.ts";

afterEach(cleanup);

/** Shows the times of the last of these runs, and returns the text beside "Offset from trace start". */
function showOffset(items: readonly Item[]): string | null | undefined {
  const model = modelOf(items);
  const runIndex = items.length - 1;
  const details = {
    ...parseRunDetails({ id: idOf(items.length), start_time: "2026-03-01T14:05:09Z" }),
    files: [],
    projectId: undefined,
    threadId: undefined,
    referenceExampleId: undefined,
    firstTokenMs: undefined,
    tokens: { prompt: 1_234, completion: 0, total: 1_234 },
    cost: parseRunCost({}),
    serialized: undefined,
    extra: undefined,
    allEvents: [],
    shareToken: undefined,
    tenantId: undefined,
  };
  const view = {
    model,
    facts: undefined,
    path: new Map(),
    fullRange: computeFullRange(model, 0),
  };
  render(<TimingTab details={details} view={view} runIndex={runIndex} />);
  return screen.getByText("Offset from trace start").nextSibling?.textContent;
}

test.each([
  { firstStart: 0, offset: "500 ms" },
  { firstStart: -2_000_000, offset: "2.50 s" },
  { firstStart: 200_000, offset: "300 ms" },
])(
  "an offset is counted from the first start, also if that is $firstStart µs after the model's base time",
  ({ firstStart, offset }) => {
    expect(
      showOffset([
        { id: 1, start: firstStart, end: 2_000_000 },
        { id: 2, parent: 1, start: 500_000 },
      ]),
    ).toBe(offset);
  },
);

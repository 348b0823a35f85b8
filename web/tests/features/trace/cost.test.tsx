import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, describe, expect, test } from "vitest";
import { formatDollars } from "../../../src/components/text/cost.ts";
import { CostText } from "../../../src/features/trace/run-panel/cost-text.tsx";
import { formatSide, parseRunCost } from "../../../src/features/trace/run-panel/run-cost.ts";
import { TraceCost } from "../../../src/features/trace/header/trace-cost.tsx";
import { modelOf } from "../../support/trace.ts";
import type { Item } from "../../support/trace.ts";

afterEach(cleanup);

test.each([
  [0, "$0"],
  [0.000_000_123_4, "$0.000000123"],
  [0.003_51, "$0.00351"],
  [0.5, "$0.50"],
  [1, "$1.00"],
  [1_234.567, "$1,234.57"],
])("%d dollars are shown as %s", (cost, text) => {
  expect(formatDollars(cost)).toBe(text);
});

const computed = {
  total_cost: "0.0059",
  prompt_cost: "0.0049",
  completion_cost: "0.001",
  prompt_cost_details: { cache_read: 0.0001 },
  completion_cost_details: null,
  cost_basis: { source: "library", provider: "openai", model: "gpt-4o", tier: "batch" },
};

describe("the cost of a run", () => {
  test("is shown with its parts and the price in a tooltip", () => {
    render(<CostText cost={parseRunCost(computed)} />);
    expect(screen.getByText("$0.0059").title).toBe(
      "Prompt: $0.0049 (cache read $0.0001)\nCompletion: $0.001\nPublic price: gpt-4o (openai), batch",
    );
  });

  test("says if the run reports it, or if the price is from the price table", () => {
    render(<CostText cost={parseRunCost({ total_cost: "7", cost_basis: null })} />);
    expect(screen.getByText("$7.00").title).toBe("Reported by the run");
    const cost_basis = { source: "table", provider: null, model: "gpt*" };
    expect(parseRunCost({ ...computed, cost_basis }).price).toBe("Price table: gpt*");
  });

  test("is unknown with the reason in a tooltip, and not zero", () => {
    const reason = 'No price is known for the model "x".';
    const cost = parseRunCost({ total_cost: null, cost_basis: { reason } });
    render(<CostText cost={cost} prefix="Cost" />);
    expect(screen.getByText("Cost unknown").title).toBe(reason);
    expect(formatSide(cost.prompt, cost.promptParts)).toBe("");
  });

  test("is not shown for a run without usage", () => {
    const { container } = render(
      <CostText cost={parseRunCost({ total_cost: null, cost_basis: null })} />,
    );
    expect(container.innerHTML).toBe("");
  });
});

describe("the cost of a trace", () => {
  const call = { type: "llm", tokens: 5, promptCost: 0.25, completionCost: 0.5 };
  const show = (items: readonly Omit<Item, "id">[]) => {
    const { container } = render(
      <TraceCost model={modelOf(items.map((item, index) => ({ ...item, id: index + 1 })))} />,
    );
    const span = container.querySelector("span");
    return span === null ? undefined : [span.textContent, span.title];
  };

  test("is that of its model calls, with its parts in a tooltip", () => {
    expect(
      show([
        { tokens: 100, promptCost: 9, completionCost: 9 },
        call,
        { ...call, type: "embedding", completionCost: 0 },
      ]),
    ).toEqual(["$1.00", "Prompt: $0.50\nCompletion: $0.50"]);
  });

  test("is a lower bound if no price is known for some of them", () => {
    expect(show([call, { type: "llm", tokens: 5 }, { type: "llm" }])).toEqual([
      "≥ $0.75",
      "Prompt: $0.25\nCompletion: $0.50\nThe cost of 1 of 2 model calls is unknown: select one to see why.",
    ]);
  });

  test("is unknown if no price is known for any", () => {
    expect(show([{ type: "llm", tokens: 5 }])).toEqual([
      "Cost unknown",
      "The cost of 1 of 1 model call is unknown: select one to see why.",
    ]);
  });

  test("is not shown for a trace without usage", () => {
    expect(show([{ type: "llm" }, { tokens: 5 }])).toBeUndefined();
  });
});

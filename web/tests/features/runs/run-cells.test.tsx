import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";
import { renderRunDetail, toRunColumns } from "../../../src/features/runs/run-columns.tsx";
import type { RunItem } from "../../../src/features/runs/run-item.ts";

afterEach(cleanup);

const run: RunItem = {
  id: "a",
  startMs: Date.now() - 120_000,
  traceId: "a",
  parentRunId: undefined,
  name: "support-agent",
  runType: "chain",
  status: "success",
  endMs: undefined,
  firstTokenMs: undefined,
  tokens: 1_020,
  cost: 0.0027,
  isUsagePartial: false,
  models: ["gpt-4o", "house-model"],
  tags: ["production", "eu-west", "canary"],
  metadata: {},
  feedback: {},
  error: undefined,
  inputs: '{"question":"Where is it?"}',
  outputs: '{"answer":"On its way."}',
  exampleId: undefined,
};

const columns = toRunColumns({
  isRootOnly: true,
  isWide: true,
  metadataKeys: [],
  feedbackKeys: ["tone"],
});

function renderCell(id: string, changes: Partial<RunItem> = {}): HTMLElement {
  const column = columns.find((candidate) => candidate.id === id);
  return render(<div>{column?.renderCell({ ...run, ...changes })}</div>).container;
}

test("the first tag is shown whole, with the number of further ones, and all in the tooltip", () => {
  expect(renderCell("tags").textContent).toBe("production+2");
  expect(screen.getByTitle("production, eu-west, canary")).toBeTruthy();
  cleanup();
  expect(renderCell("tags", { tags: ["beta"] }).textContent).toBe("beta");
  cleanup();
  expect(renderCell("tags", { tags: [] }).textContent).toBe("");
});

test("the user is read from the metadata of the SDK and of Langfuse", () => {
  expect(renderCell("user", { metadata: { user_id: "u-1" } }).textContent).toBe("u-1");
  cleanup();
  expect(renderCell("user", { metadata: { langfuse_user_id: "u-2" } }).textContent).toBe("u-2");
  cleanup();
  const both = { user_id: "u-1", langfuse_user_id: "u-1" };
  expect(renderCell("user", { metadata: both }).textContent).toBe("u-1");
  cleanup();
  expect(renderCell("user").textContent).toBe("");
});

test("only runs that failed or have not ended have a visible word for their status", () => {
  renderCell("status");
  expect(screen.getByText("Success").className).toBe("unseen");
  expect(screen.getByTitle("Success")).toBeTruthy();
  cleanup();
  renderCell("status", { status: "error" });
  expect(screen.getByText("Error").className).toBe("");
});

test("a category is shown instead of the number of entries, with all categories in the tooltip", () => {
  const tone = { count: 3, average: undefined, values: { bad: 1, good: 2 } };
  expect(renderCell("feedback.tone", { feedback: { tone } }).textContent).toBe("good 2 of 3");
  expect(screen.getByTitle("good 2×, bad 1×")).toBeTruthy();
});

test("on a narrow screen a row says what the run was about, with its models, tokens, cost and time", () => {
  const { container } = render(<div>{renderRunDetail(run)}</div>);
  expect(container.textContent).toContain("Where is it? → On its way.");
  expect(container.textContent).toContain("gpt-4o +1 · 1,020 tokens · $0.0027 · 2 min ago");
});

test("the default columns fit beside the facets at 1,440 pixels", () => {
  // The width of the window without the side bar, the facets and the check boxes.
  const availablePixels = 1_440 - 76 - 220 - 36;
  const shown = columns.filter(
    ({ id, isShown }) => isShown !== false && !id.startsWith("feedback."),
  );
  expect(shown.at(-1)?.id).toBe("start");
  expect(shown.reduce((sum, { width }) => sum + width, 0)).toBeLessThan(availablePixels);
});

import { MantineProvider } from "@mantine/core";
import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, test, vi } from "vitest";
import type { SubmittedFeedback } from "../../../src/features/feedback/queries.ts";
import type { FeedbackForm } from "../../../src/features/feedback/feedback.ts";
import { ScoreField } from "../../../src/features/feedback/score-field.tsx";

afterEach(cleanup);

function show(input: FeedbackForm["input"]) {
  const onChange = vi.fn<(draft: SubmittedFeedback) => void>();
  render(
    <MantineProvider>
      <ScoreField input={input} draft={{}} onChange={onChange} />
    </MantineProvider>,
  );
  return onChange;
}

test("a category sets its score and its label", async () => {
  const onChange = show({
    kind: "choice",
    choices: [
      { score: 1, label: "Helpful" },
      { score: 0, label: "Not helpful" },
    ],
  });
  await userEvent.setup().click(screen.getByText("Not helpful"));
  expect(onChange).toHaveBeenLastCalledWith({ score: 0, value: "Not helpful" });
});

test("a score shows its range and rejects values outside it", async () => {
  const onChange = show({ kind: "score", min: 0, max: 5 });
  expect(screen.getByText("From 0 to 5")).toBeTruthy();
  const field = screen.getByLabelText("Score");
  await userEvent.setup().type(field, "7");
  expect(onChange).not.toHaveBeenCalledWith({ score: 7 });
  await userEvent.setup().type(field, "4");
  expect(onChange).toHaveBeenLastCalledWith({ score: 4 });
});

test("a label with characters that reverse text is shown with escapes", () => {
  show({ kind: "choice", choices: [{ score: 1, label: "\u202Eno" }] });
  expect(screen.getByText(String.raw`\u202eno`)).toBeTruthy();
});

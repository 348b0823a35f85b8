// @vitest-environment happy-dom
import { MantineProvider } from "@mantine/core";
import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, test, vi } from "vitest";
import type { GivenFeedback } from "../../../src/features/feedback/queries.ts";
import type { FeedbackForm } from "../../../src/features/feedback/feedback.ts";
import { Judging } from "../../../src/features/feedback/score-field.tsx";

afterEach(cleanup);

function show(asks: FeedbackForm["asks"]) {
  const onGive = vi.fn<(given: GivenFeedback) => void>();
  render(
    <MantineProvider>
      <Judging asks={asks} given={{}} onGive={onGive} />
    </MantineProvider>,
  );
  return onGive;
}

test("a category gives its number and what it is called", async () => {
  const onGive = show({
    kind: "choice",
    choices: [
      { score: 1, label: "Helpful" },
      { score: 0, label: "Not helpful" },
    ],
  });
  await userEvent.setup().click(screen.getByText("Not helpful"));
  expect(onGive).toHaveBeenLastCalledWith({ score: 0, value: "Not helpful" });
});

test("a score says its range, and what is beyond it can't be typed", async () => {
  const onGive = show({ kind: "score", min: 0, max: 5 });
  expect(screen.getByText("From 0 to 5")).toBeTruthy();
  const field = screen.getByLabelText("Score");
  await userEvent.setup().type(field, "7");
  expect(onGive).not.toHaveBeenCalledWith({ score: 7 });
  await userEvent.setup().type(field, "4");
  expect(onGive).toHaveBeenLastCalledWith({ score: 4 });
});

test("a label from the server that would reverse the page is shown as it is written", () => {
  show({ kind: "choice", choices: [{ score: 1, label: "\u202Eno" }] });
  expect(screen.getByText(String.raw`\u202eno`)).toBeTruthy();
});

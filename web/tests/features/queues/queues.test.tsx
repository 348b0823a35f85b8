import { MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { useState } from "react";
import { afterEach, expect, test, vi } from "vitest";
import { QueueForm } from "../../../src/features/queues/queue-form.tsx";
import { toRubricQuestion } from "../../../src/features/queues/rubric.ts";
import type { Answer } from "../../../src/features/queues/rubric.ts";
import { ReviewerEntry } from "../../../src/features/queues/reviewer-entry.tsx";
import { ScoreInput } from "../../../src/features/queues/review/score-input.tsx";
import { useReviewKeys } from "../../../src/features/queues/review/use-review-keys.ts";

afterEach(cleanup);

const Question = ({ item }: { readonly item: object }) => {
  const [answer, setAnswer] = useState<Answer>();
  const question = toRubricQuestion({ feedback_key: "correct", ...item })!;
  return (
    <MantineProvider withCssVariables={false}>
      <ScoreInput
        question={question}
        answer={answer}
        isSelected
        onSelect={() => undefined}
        onAnswer={setAnswer}
      />
      <output>{JSON.stringify(answer)}</output>
    </MantineProvider>
  );
};

const answered = () => screen.getByRole("status").textContent;

test("a choice is pressed when selected, and a second click deselects it", () => {
  render(<Question item={{ is_assertion: true }} />);
  fireEvent.click(screen.getByRole("button", { name: /No/ }));
  expect(answered()).toBe('{"score":0}');
  expect(screen.getByRole("button", { name: /No/ }).getAttribute("aria-pressed")).toBe("true");
  fireEvent.click(screen.getByRole("button", { name: /No/ }));
  expect(answered()).toBe("");
});

test("a slider sets a number, and is marked as unanswered until then", () => {
  render(<Question item={{ is_assertion: false }} />);
  const slider = screen.getByRole("slider");
  expect(slider.getAttribute("aria-valuetext")).toBe("not answered");
  fireEvent.change(slider, { target: { value: "0.4" } });
  expect(answered()).toBe('{"score":0.4}');
  expect(slider.getAttribute("aria-valuetext")).toBe("0.4");
});

test("a text is the value, and an empty text is no answer", () => {
  render(<Question item={{ feedback_config: { type: "freeform" } }} />);
  fireEvent.change(screen.getByRole("textbox"), { target: { value: "<b>" } });
  expect(answered()).toBe('{"value":"<b>"}');
  fireEvent.change(screen.getByRole("textbox"), { target: { value: "" } });
  expect(answered()).toBe("");
});

test("a name that the server would reject is rejected here, and surrounding spaces are removed", () => {
  const names: string[] = [];
  render(
    <MantineProvider withCssVariables={false}>
      <ReviewerEntry onName={(name) => names.push(name)} />
    </MantineProvider>,
  );
  const enter = (name: string): void => {
    fireEvent.change(screen.getByRole("textbox"), { target: { value: name } });
    fireEvent.click(screen.getByRole("button", { name: "Review" }));
  };
  enter("  ");
  expect(screen.getByRole("alert").textContent).toMatch(/Enter a name/);
  enter("a".repeat(65));
  expect(screen.getByRole("alert").textContent).toMatch(/at most 64/);
  enter(" Ann ");
  expect(names).toEqual(["Ann"]);
});

test("keys work wherever the focus is, except in a text field, behind a dialog, or as the second key after g", () => {
  const done: string[] = [];
  const Page = () => {
    useReviewKeys(({ kind }) => done.push(kind));
    return <textarea aria-label="Note" />;
  };
  render(<Page />);
  fireEvent.keyDown(document.body, { key: "d" });
  fireEvent.keyDown(document.body, { key: "g" });
  fireEvent.keyDown(document.body, { key: "s" });
  fireEvent.keyDown(screen.getByLabelText("Note"), { key: "s" });
  fireEvent.keyDown(screen.getByLabelText("Note"), { key: "Enter", ctrlKey: true });
  const dialog = document.createElement("dialog");
  dialog.setAttribute("open", "");
  document.body.append(dialog);
  fireEvent.keyDown(document.body, { key: "u" });
  dialog.remove();
  expect(done).toEqual(["done", "done"]);
});

test.each([
  ["Reviews per run", /number of reviews per run.*1 to 100/],
  ["Claim timeout (minutes)", /claim timeout.*1 to 1,440/],
  ["Minimum", /minimum and a maximum for q/],
  ["Maximum", /minimum and a maximum for q/],
])("a cleared number is not saved as 0: %s", async (label, problem) => {
  let saveCount = 0;
  vi.stubGlobal("fetch", async (_path: string, { method }: RequestInit) => {
    saveCount += method === "PATCH" ? 1 : 0;
    return Response.json([]);
  });
  const queue = {
    id: "5f0c5b2e-1f6f-4f9e-8b7b-1d2f3a4b5c6d",
    name: "n",
    description: "",
    instructions: "",
    defaultDatasetId: undefined,
    questions: [
      { key: "q", description: "", isRequired: true, kind: "continuous", min: 1, max: 5 },
    ],
    reviewersPerRun: 2,
    claimMinutes: 5,
    createdMs: undefined,
  } as const;
  render(
    <QueryClientProvider client={new QueryClient()}>
      <MantineProvider withCssVariables={false}>
        <QueueForm queue={queue} onClose={() => undefined} />
      </MantineProvider>
    </QueryClientProvider>,
  );
  fireEvent.change(screen.getByLabelText(label), { target: { value: "" } });
  fireEvent.submit(screen.getByLabelText(label));
  await screen.findByText(problem);
  expect(saveCount).toBe(0);
});

import { MantineProvider } from "@mantine/core";
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { useState } from "react";
import { afterEach, expect, test } from "vitest";
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
  render(<Question item={{}} />);
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

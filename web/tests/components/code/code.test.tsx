import { MantineProvider } from "@mantine/core";
import { cleanup, render, screen, waitFor } from "@testing-library/react";
import { EditorView } from "@codemirror/view";
import { afterEach, expect, test } from "vitest";
import { Code } from "../../../src/components/code/code.tsx";
import { TextDiff } from "../../../src/components/code/text-diff.tsx";

afterEach(cleanup);

const shadowText = async (selector: string): Promise<string> => {
  const content = await waitFor(() => {
    const found = document.querySelector(".code-host, .diff-host")?.shadowRoot;
    const inner = found?.querySelector(selector);
    expect(inner).toBeTruthy();
    return inner!;
  });
  return content.textContent ?? "";
};

const editor = async (): Promise<EditorView> =>
  waitFor(() => {
    const root = document.querySelector(".code-host")?.shadowRoot;
    const view = EditorView.findFromDOM(root!.querySelector<HTMLElement>(".cm-editor")!);
    expect(view).not.toBeNull();
    return view!;
  });

test("an edit is reported with the whole text; a new value from the caller is not reported", async () => {
  const reported: string[] = [];
  const props = {
    label: "Inputs",
    language: "json" as const,
    onChange: (t: string) => reported.push(t),
  };
  const { rerender } = render(<Code {...props} value='{"a":1}' />);
  const view = await editor();
  view.dispatch({ changes: { from: 5, to: 6, insert: "2" } });
  expect(reported).toEqual(['{"a":2}']);
  rerender(<Code {...props} value='{"b":3}' />);
  expect(view.state.doc.toString()).toBe('{"b":3}');
  expect(reported).toHaveLength(1);
});

test("a read-only text can be focused with the keyboard and is marked as read-only", async () => {
  render(<Code label="Outputs" readOnly value="hello" />);
  const view = await editor();
  expect(view.contentDOM.getAttribute("aria-readonly")).toBe("true");
  expect(view.contentDOM.getAttribute("tabindex")).toBe("0");
  expect(view.state.readOnly).toBe(true);
});

test("faults are underlined with their message, even at the very end of the text", async () => {
  render(
    <Code
      label="Inputs"
      language="json"
      value='{"a":'
      faults={[{ from: 5, to: 5, message: "a value is missing" }]}
    />,
  );
  await editor();
  const mark = await waitFor(() => {
    const found = document.querySelector(".code-host")?.shadowRoot?.querySelector(".cm-fault");
    expect(found).toBeTruthy();
    return found!;
  });
  expect(mark.getAttribute("title")).toBe("a value is missing");
});

const diff = (before: string, after: string) =>
  render(
    <MantineProvider withCssVariables={false}>
      <TextDiff before={before} after={after} label="Answer" />
    </MantineProvider>,
  );

test("a diff shows removed and added lines", async () => {
  diff("one\ntwo\nthree", "one\n2\nthree");
  expect(await shadowText(".cm-deletedChunk")).toContain("two");
  expect(await shadowText(".cm-changedLine")).toContain("2");
});

test("two equal texts are reported as having no differences", () => {
  diff("same", "same");
  expect(screen.getByText("Answer: no differences")).toBeTruthy();
});

test("texts that are too long to compare are shown side by side, with a note", () => {
  diff("a".repeat(300_000), "b".repeat(300_000));
  expect(screen.getByRole("note").textContent).toContain("too long to compare");
  expect(document.querySelectorAll("pre")).toHaveLength(2);
  expect(document.querySelector("pre")?.textContent).toHaveLength(50_000);
});

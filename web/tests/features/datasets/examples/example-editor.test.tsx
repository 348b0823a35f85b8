import { MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen, waitFor } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { EditorView } from "@codemirror/view";
import { afterEach, expect, test } from "vitest";
import type { ExampleChange } from "../../../../src/features/datasets/examples/queries.ts";
import { ExampleEditor } from "../../../../src/features/datasets/examples/example-editor.tsx";
import { ScoreMark } from "../../../../src/features/experiments/score-mark.tsx";

afterEach(cleanup);

const texts = { inputs: '{"n": 1}', outputs: "", metadata: '{"k": "v"}', splits: ["train"] };

function edit(onSave: (change: ExampleChange) => Promise<unknown>): void {
  render(
    <MantineProvider withCssVariables={false}>
      <QueryClientProvider
        client={new QueryClient({ defaultOptions: { queries: { enabled: false } } })}
      >
        <ExampleEditor
          datasetId="d"
          texts={texts}
          action="Save"
          onSave={onSave}
          onCancel={() => undefined}
        />
      </QueryClientProvider>
    </MantineProvider>,
  );
}

/** Replaces the text of the first editor, which contains the inputs. */
async function writeInputs(text: string): Promise<void> {
  const view = await waitFor(() => {
    const root = document.querySelector(".code-host")?.shadowRoot;
    const found = EditorView.findFromDOM(root!.querySelector<HTMLElement>(".cm-editor")!);
    expect(found).not.toBeNull();
    return found!;
  });
  view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
}

const save = () => screen.getByRole<HTMLButtonElement>("button", { name: "Save" });

test("saving submits parsed values, null for missing outputs, and unchanged splits", async () => {
  const saved: ExampleChange[] = [];
  edit(async (change) => saved.push(change));
  await userEvent.click(save());
  expect(saved).toEqual([
    { inputs: { n: 1 }, outputs: null, metadata: { k: "v" }, split: ["train"] },
  ]);
});

test("invalid JSON can't be saved, and its position is shown", async () => {
  edit(async () => undefined);
  await writeInputs('{\n"n": }');
  await waitFor(() => expect(save().disabled).toBe(true));
  expect(screen.getByRole("alert", { hidden: false }).textContent).toBe(
    "this is not a JSON value line 2, column 6",
  );
  await writeInputs('{"n": 2}');
  await waitFor(() => expect(save().disabled).toBe(false));
});

test("a schema error is shown at its field, and any other error below the form", async () => {
  const id = "01a20025-2cae-71af-a91e-cf2295203e3a";
  let reason = `422: examples do not fit the dataset's schema: example ${id}: inputs/n must be string`;
  edit(async () => {
    throw new Error(reason);
  });
  await userEvent.click(save());
  await screen.findByText("inputs/n must be string");
  expect(screen.getByText("line 1, column 7")).toBeTruthy();
  reason = "0: The server does not answer.";
  await userEvent.click(save());
  await screen.findByText(reason);
  expect(screen.queryByText("inputs/n must be string")).toBeNull();
});

test("a score shows its change with an arrow and a sign; the baseline shows none", () => {
  const { container, rerender } = render(
    <ScoreMark name="right" score={0.5} baseline={1} isLowerBetter={false} />,
  );
  expect(container.textContent).toBe("right0.5▼ −0.5");
  expect(container.querySelector("[data-kind]")?.getAttribute("data-kind")).toBe("worse");
  rerender(<ScoreMark score={undefined} isLowerBetter />);
  expect(container.textContent).toBe("–");
});

import { MantineProvider } from "@mantine/core";
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { useState } from "react";
import { afterEach, expect, test } from "vitest";
import { firstDraft, toManifest } from "../../../src/features/prompts/manifest/manifest-edit.ts";
import type { PromptDraft } from "../../../src/features/prompts/manifest/manifest-edit.ts";
import { toPromptContent, listVariables } from "../../../src/features/prompts/manifest/manifest.ts";
import { MessageEditor } from "../../../src/features/prompts/message-editor.tsx";
import { MessageList } from "../../../src/features/prompts/message-list.tsx";
import { VariablesPreview } from "../../../src/features/prompts/variables-preview.tsx";

afterEach(cleanup);

const Editor = ({ onDraft }: { readonly onDraft: (draft: PromptDraft) => void }) => {
  const [draft, setDraft] = useState(firstDraft);
  return (
    <MantineProvider withCssVariables={false}>
      <MessageEditor
        draft={draft}
        onDraft={(next) => {
          setDraft(next);
          onDraft(next);
        }}
      />
    </MantineProvider>
  );
};

test("messages can be added, moved, changed and removed, except for the last one", () => {
  let draft: PromptDraft = firstDraft;
  render(<Editor onDraft={(next) => (draft = next)} />);
  fireEvent.click(screen.getByRole("button", { name: "Add message" }));
  fireEvent.change(screen.getAllByLabelText("Text")[2]!, { target: { value: "third" } });
  fireEvent.change(screen.getAllByLabelText("Role")[2]!, { target: { value: "ai" } });
  fireEvent.click(screen.getByRole("button", { name: /Move message 3 \(ai\) up/ }));
  expect(draft.messages.map(({ role }) => role)).toEqual(["system", "ai", "human"]);
  fireEvent.click(screen.getByRole("button", { name: /Remove message 1/ }));
  fireEvent.click(screen.getByRole("button", { name: /Remove message 2/ }));
  expect(draft.messages).toMatchObject([{ role: "ai", text: "third" }]);
  expect(screen.getByRole<HTMLButtonElement>("button", { name: /Remove message 1/ }).disabled).toBe(
    true,
  );
});

test("a prompt highlights its variables and fills in the typed values as plain text", () => {
  const content = toPromptContent(toManifest(firstDraft))!;
  render(
    <MantineProvider withCssVariables={false}>
      <MessageList content={content} />
      <VariablesPreview content={content} variables={listVariables(content)} />
    </MantineProvider>,
  );
  expect(document.querySelector("mark")?.textContent).toBe("{question}");
  fireEvent.change(screen.getByLabelText("question"), { target: { value: "<i>why</i>\u202e" } });
  expect(document.querySelector(".hub-filled")?.textContent).toContain(
    String.raw`<i>why</i>\u202e`,
  );
  expect(document.querySelector(".hub-filled i")).toBeNull();
});

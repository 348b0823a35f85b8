import { Button } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Code } from "../../components/code/code.tsx";
import { FormError } from "../../components/dialog/form.tsx";
import { Empty } from "../../components/page/states.tsx";
import { Markdown } from "../../components/markdown/markdown.tsx";
import type { Prompt } from "./prompt.ts";
import { updatePrompt } from "./queries.ts";
import type { PromptAddress } from "./queries.ts";

/** Shows the README of a prompt, and lets its owner edit it. */
export const Readme = ({
  prompt,
  address,
  isOwner,
}: {
  readonly prompt: Prompt;
  readonly address: PromptAddress;
  readonly isOwner: boolean;
}) => {
  const client = useQueryClient();
  const [editedReadme, setEditedReadme] = useState<string>();
  const [error, setError] = useState<string>();
  const save = async (readme: string): Promise<void> => {
    try {
      await updatePrompt(address, { readme });
      await client.invalidateQueries({ queryKey: ["prompts"] });
      setEditedReadme(undefined);
      setError(undefined);
    } catch (cause) {
      setError(cause instanceof Error ? cause.message : String(cause));
    }
  };
  if (editedReadme === undefined) {
    const editButton = isOwner && (
      <Button size="xs" variant="default" onClick={() => setEditedReadme(prompt.readme)}>
        {prompt.readme === "" ? "Write README" : "Edit"}
      </Button>
    );
    return prompt.readme === "" ? (
      <Empty title="No README yet">{editButton}</Empty>
    ) : (
      <section className="hub-readme" aria-label="README">
        <Markdown text={prompt.readme} />
        {editButton}
      </section>
    );
  }
  return (
    <form
      className="form hub-readme"
      onSubmit={(event) => {
        event.preventDefault();
        void save(editedReadme);
      }}
    >
      <Code
        label="README (Markdown)"
        language="markdown"
        value={editedReadme}
        minHeight={200}
        onChange={setEditedReadme}
      />
      <FormError error={error} />
      <div className="dialog-end">
        <Button variant="default" onClick={() => setEditedReadme(undefined)}>
          Cancel
        </Button>
        <Button type="submit">Save</Button>
      </div>
    </form>
  );
};

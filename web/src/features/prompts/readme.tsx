import { Button } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Code } from "../../components/code/code.tsx";
import { FormError } from "../../components/dialog/form.tsx";
import { Empty } from "../../components/page/states.tsx";
import { Markdown } from "../../components/text/markdown.tsx";
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
  const [text, setText] = useState<string>();
  const [error, setError] = useState<string>();
  const save = async (readme: string): Promise<void> => {
    try {
      await updatePrompt(address, { readme });
      await client.invalidateQueries({ queryKey: ["prompts"] });
      setText(undefined);
      setError(undefined);
    } catch (cause) {
      setError(cause instanceof Error ? cause.message : String(cause));
    }
  };
  if (text === undefined) {
    const edit = isOwner && (
      <Button size="xs" variant="default" onClick={() => setText(prompt.readme)}>
        {prompt.readme === "" ? "Write README" : "Edit"}
      </Button>
    );
    return prompt.readme === "" ? (
      <Empty title="No README yet">{edit}</Empty>
    ) : (
      <section className="hub-readme" aria-label="README">
        <Markdown text={prompt.readme} />
        {edit}
      </section>
    );
  }
  return (
    <form
      className="form hub-readme"
      onSubmit={(event) => {
        event.preventDefault();
        void save(text);
      }}
    >
      <Code
        label="README (Markdown)"
        language="markdown"
        value={text}
        minHeight={200}
        onChange={setText}
      />
      <FormError error={error} />
      <div className="dialog-end">
        <Button variant="default" onClick={() => setText(undefined)}>
          Cancel
        </Button>
        <Button type="submit">Save</Button>
      </div>
    </form>
  );
};

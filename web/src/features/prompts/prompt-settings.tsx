import { Button, Switch, Textarea, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { FormError, FormSection } from "../../components/dialog/form.tsx";
import { parseTags } from "./prompt.ts";
import type { Prompt } from "./prompt.ts";
import { updatePrompt } from "./queries.ts";
import type { PromptFields, PromptAddress } from "./queries.ts";

/** The settings of a prompt, which only its tenant can change. */
export const PromptSettings = ({
  prompt,
  address,
}: {
  readonly prompt: Prompt;
  readonly address: PromptAddress;
}) => {
  const client = useQueryClient();
  const [description, setDescription] = useState(prompt.description);
  const [tags, setTags] = useState(prompt.tags.join(", "));
  const [error, setError] = useState<string>();
  const updateFields = async (fields: PromptFields): Promise<void> => {
    try {
      await updatePrompt(address, fields);
      await client.invalidateQueries({ queryKey: ["prompts"] });
      setError(undefined);
    } catch (cause) {
      setError(cause instanceof Error ? cause.message : String(cause));
    }
  };
  return (
    <div className="hub-settings">
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          void updateFields({ description, tags: parseTags(tags) });
        }}
      >
        <Textarea
          label="Description"
          rows={2}
          value={description}
          onChange={({ currentTarget }) => setDescription(currentTarget.value)}
        />
        <TextInput
          label="Tags"
          description="Separate tags by commas or spaces."
          value={tags}
          onChange={({ currentTarget }) => setTags(currentTarget.value)}
        />
        <div>
          <Button type="submit" size="xs">
            Save
          </Button>
        </div>
      </form>
      <FormError error={error} />
      <FormSection title="Visibility">
        <Switch
          label="Public (all tenants of this server can read it)"
          checked={prompt.isPublic}
          onChange={({ currentTarget }) => void updateFields({ is_public: currentTarget.checked })}
        />
        <Switch
          label="Archived (hidden from lists, but can still be pulled)"
          checked={prompt.isArchived}
          onChange={({ currentTarget }) =>
            void updateFields({ is_archived: currentTarget.checked })
          }
        />
      </FormSection>
    </div>
  );
};

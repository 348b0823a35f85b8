import { Button, Switch, Textarea, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { ApiError } from "../../api/http.ts";
import { Dialog } from "../../components/dialog/dialog.tsx";
import { FormError } from "../../components/dialog/form.tsx";
import { firstDraft, toManifest } from "./manifest/manifest-edit.ts";
import { MessageEditor } from "./message-editor.tsx";
import { parseTags } from "./prompt.ts";
import { commitManifest, createPrompt } from "./queries.ts";

/** A dialog that creates a prompt and its first commit. */
export const NewPrompt = ({ onClose }: { readonly onClose: () => void }) => {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [repo, setRepo] = useState("");
  const [description, setDescription] = useState("");
  const [tags, setTags] = useState("");
  const [isPublic, setIsPublic] = useState(false);
  const [draft, setDraft] = useState(firstDraft);
  /**
   * Name of the prompt, if it was created but its first commit failed. A second attempt then only creates the commit.
   */
  const [createdRepo, setCreatedRepo] = useState<string>();
  const [state, setState] = useState<{ readonly isBusy: boolean; readonly error?: string }>({
    isBusy: false,
  });
  const createWithCommit = async (): Promise<void> => {
    setState({ isBusy: true });
    let isCreated = createdRepo === repo;
    try {
      if (!isCreated) {
        await createPrompt({
          repo_handle: repo,
          description,
          tags: parseTags(tags),
          is_public: isPublic,
        });
        setCreatedRepo(repo);
        isCreated = true;
      }
      await commitManifest({ owner: "-", repo }, { manifest: toManifest(draft) });
      await client.invalidateQueries({ queryKey: ["prompts"] });
      onClose();
      await navigate({ to: "/prompts/$repo", params: { repo } });
    } catch (cause) {
      // The commit can also be a conflict, for example if another client has committed to the new prompt.
      const isTaken = !isCreated && cause instanceof ApiError && cause.status === 409;
      const message = cause instanceof Error ? cause.message : String(cause);
      setState({
        isBusy: false,
        error: isTaken ? `The name ${repo} is taken: ${message}` : message,
      });
    }
  };
  return (
    <Dialog title="New prompt" width={720} onClose={onClose}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          void createWithCommit();
        }}
      >
        <TextInput
          label="Name"
          description="Use lowercase letters, digits, hyphens and underscores, starting with a letter. The name can't be changed later."
          required
          pattern="[a-z][a-z0-9_\-]{0,99}"
          value={repo}
          onChange={({ currentTarget }) => setRepo(currentTarget.value)}
        />
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
        <Switch
          label="Public (all tenants of this server can read it)"
          checked={isPublic}
          onChange={({ currentTarget }) => setIsPublic(currentTarget.checked)}
        />
        <MessageEditor draft={draft} onDraft={setDraft} />
        <FormError error={state.error} />
        <div className="dialog-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={state.isBusy}>
            Create prompt
          </Button>
        </div>
      </form>
    </Dialog>
  );
};

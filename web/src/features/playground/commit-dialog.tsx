import { Button, Radio, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { ApiError } from "../../api/http.ts";
import { Dialog } from "../../components/dialog/dialog.tsx";
import { FormError } from "../../components/dialog/form.tsx";
import { pluralize } from "../../components/text/quantity.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";
import type { ModelClass } from "../prompts/manifest/model-edit.ts";
import { commitManifest, createPrompt } from "../prompts/queries.ts";
import { findPromptFault, stateToManifest, toModelDraft } from "./from-prompt.ts";
import type { PromptSource } from "./from-prompt.ts";
import type { PlaygroundState } from "./playground-state.ts";

/** Why a prompt is saved: for its own sake, or because an experiment runs only saved prompts. */
export type CommitPurpose = "save" | "experiment";

/**
 * A dialog that saves the messages, the output schema, and the model with its settings and tools, either as a new
 * commit of the opened prompt or as a new prompt.
 */
export const CommitDialog = ({
  state,
  purpose,
  protocol,
  onClose,
  onCommit,
}: {
  readonly state: PlaygroundState;
  readonly purpose: CommitPurpose;
  /** The protocol of the first model's endpoint. */
  readonly protocol: string | undefined;
  readonly onClose: () => void;
  /** Called with the created commit, which becomes the parent of the next one. */
  readonly onCommit: (source: PromptSource) => void;
}) => {
  const client = useQueryClient();
  // The owner `-` is the current tenant. A prompt of another tenant can't be changed.
  const openedPrompt =
    state.source?.kind === "prompt" && state.source.owner === "-" ? state.source : undefined;
  const [isNew, setIsNew] = useState(openedPrompt === undefined);
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const [createdName, setCreatedName] = useState<string>();
  const [progress, setProgress] = useState<{
    readonly isBusy: boolean;
    readonly error?: string;
    readonly saved?: { readonly repo: string; readonly commit: string };
  }>({ isBusy: false });
  const fault = findPromptFault(state);
  const className: ModelClass = protocol === "anthropic" ? "ChatAnthropic" : "ChatOpenAI";
  const save = async (): Promise<void> => {
    setProgress({ isBusy: true });
    try {
      const base = isNew ? undefined : openedPrompt;
      const repo = base?.repo ?? name.trim();
      if (isNew && createdName !== repo) {
        await createPrompt({ repo_handle: repo, is_public: false });
        setCreatedName(repo);
      }
      const manifest = stateToManifest(state, base?.manifest, className);
      const { hash } = await commitManifest(
        { owner: "-", repo },
        {
          manifest,
          ...(base === undefined ? {} : { parent_commit: base.hash }),
          ...(description === "" ? {} : { description }),
        },
      );
      await client.invalidateQueries({ queryKey: ["prompts"] });
      onCommit({ kind: "prompt", owner: "-", repo, hash, manifest });
      setProgress({ isBusy: false, saved: { repo, commit: hash.slice(0, 8) } });
    } catch (cause) {
      setProgress({ isBusy: false, error: explainError(cause) });
    }
  };
  return (
    <Dialog title="Save as prompt" onClose={onClose}>
      {progress.saved === undefined ? (
        <form
          className="form"
          onSubmit={(event) => {
            event.preventDefault();
            event.stopPropagation();
            void save();
          }}
        >
          {purpose === "experiment" && (
            <p className="note">
              An experiment runs a saved prompt, so that its results can be reproduced. Save this
              one, and then choose the dataset.
            </p>
          )}
          <p className="note">
            {fault === undefined && describeSaved(state, className)} Values of variables are not
            saved.
          </p>
          {openedPrompt !== undefined && (
            <Radio.Group
              label="Save as"
              value={isNew ? "new" : "commit"}
              onChange={(value) => setIsNew(value === "new")}
            >
              <Radio value="commit" label={`New commit of ${toVisibleText(openedPrompt.repo)}`} />
              <Radio value="new" label="New prompt" />
            </Radio.Group>
          )}
          {isNew && (
            <TextInput
              label="Name"
              description="Use lowercase letters, digits, hyphens and underscores, starting with a letter."
              required
              pattern="[a-z][a-z0-9_\-]{0,99}"
              value={name}
              onChange={({ currentTarget }) => setName(currentTarget.value)}
            />
          )}
          <TextInput
            label="Commit message"
            value={description}
            onChange={({ currentTarget }) => setDescription(currentTarget.value)}
          />
          <FormError error={fault ?? progress.error} />
          <div className="dialog-end">
            <Button type="button" variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" disabled={fault !== undefined} loading={progress.isBusy}>
              {purpose === "experiment" ? "Save and choose a dataset" : "Save"}
            </Button>
          </div>
        </form>
      ) : (
        <>
          <output>
            Saved as{" "}
            <Link to="/prompts/$repo/$commit" params={progress.saved}>
              {toVisibleText(`${progress.saved.repo}:${progress.saved.commit}`)}
            </Link>
            .
          </output>
          <div className="dialog-end">
            <Button onClick={onClose}>Done</Button>
          </div>
        </>
      )}
    </Dialog>
  );
};

/** Describes what will be saved, in a sentence. */
function describeSaved(state: PlaygroundState, className: ModelClass): string {
  const model = toModelDraft(state, className);
  const parts = [
    "the messages",
    ...(state.schemaText.trim() === "" ? [] : ["the output schema"]),
    ...(model === undefined || model.tools.length === 0
      ? []
      : [pluralize(model.tools.length, "tool")]),
    ...(model === undefined ? [] : [`the model ${toVisibleText(model.name)} with its settings`]),
  ];
  const singleModelNote = state.targets.length > 1 ? " Only the first model is saved." : "";
  const list =
    parts.length === 1 ? parts[0] : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
  return `Saves ${list}.${singleModelNote}`;
}

function explainError(cause: unknown): string {
  const message = cause instanceof Error ? cause.message : String(cause);
  return cause instanceof ApiError && cause.status === 409
    ? `${message}. The name is taken, nothing changed, or the prompt has a newer commit. Your messages are kept.`
    : message;
}

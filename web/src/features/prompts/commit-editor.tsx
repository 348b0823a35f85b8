import { Button, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { ApiError } from "../../api/http.ts";
import { Code } from "../../components/code/code.tsx";
import { FormError } from "../../components/dialog/form.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { firstDraft, toManifest, toPromptDraft, applyDraft } from "./manifest/manifest-edit.ts";
import { toManifestText } from "./manifest/manifest.ts";
import { MessageEditor } from "./message-editor.tsx";
import { shortenHash } from "./prompt.ts";
import { commitManifest } from "./queries.ts";
import type { PromptAddress } from "./queries.ts";

/** A form for a new commit, in which the user edits either the messages or the JSON of the whole manifest. */
export const CommitEditor = ({
  address,
  manifest,
  parentHash,
  onClose,
}: {
  readonly address: PromptAddress;
  /** The manifest to edit; `undefined` for the first commit. */
  readonly manifest: unknown;
  /** Hash of the commit that has this manifest. */
  readonly parentHash: string | undefined;
  readonly onClose: (() => void) | undefined;
}) => {
  const client = useQueryClient();
  const navigate = useNavigate();
  const initialDraft = manifest === undefined ? firstDraft : toPromptDraft(manifest);
  const [draft, setDraft] = useState(initialDraft);
  const [manifestText, setManifestText] = useState(() =>
    initialDraft === undefined ? toManifestText(manifest) : undefined,
  );
  const [description, setDescription] = useState("");
  const [state, setState] = useState<{ readonly isBusy: boolean; readonly error?: string }>({
    isBusy: false,
  });
  const buildManifest = (): unknown =>
    manifest === undefined || draft === undefined
      ? toManifest(draft ?? firstDraft)
      : applyDraft(manifest, draft);
  const commit = async (): Promise<void> => {
    setState({ isBusy: true });
    try {
      await commitManifest(address, {
        manifest: manifestText === undefined ? buildManifest() : parseObject(manifestText),
        ...(parentHash === undefined ? {} : { parent_commit: parentHash }),
        ...(description === "" ? {} : { description }),
      });
      await client.invalidateQueries({ queryKey: ["prompts"] });
      onClose?.();
      await navigate({ to: "/prompts/$repo", params: { repo: address.repo } });
    } catch (cause) {
      setState({ isBusy: false, error: explainError(cause) });
    }
  };
  return (
    <form
      className="form hub-commit-form"
      onSubmit={(event) => {
        event.preventDefault();
        void commit();
      }}
    >
      <p className="note">
        {parentHash === undefined
          ? `First commit of ${toVisibleText(address.repo)}.`
          : `Based on ${shortenHash(parentHash)}.`}{" "}
        {initialDraft !== undefined && (
          <Button
            size="compact-xs"
            variant="subtle"
            onClick={() =>
              setManifestText(
                manifestText === undefined ? toManifestText(buildManifest()) : undefined,
              )
            }
          >
            {manifestText === undefined ? "Edit manifest (JSON)" : "Edit messages"}
          </Button>
        )}
        {initialDraft === undefined &&
          "The message editor does not support this manifest. Edit its JSON instead."}
      </p>
      {manifestText === undefined && draft !== undefined ? (
        <MessageEditor draft={draft} onDraft={setDraft} />
      ) : (
        <Code
          label="Manifest"
          language="json"
          value={manifestText ?? ""}
          maxHeight={520}
          onChange={setManifestText}
        />
      )}
      <TextInput
        label="Commit message"
        value={description}
        onChange={({ currentTarget }) => setDescription(currentTarget.value)}
      />
      <FormError error={state.error} />
      <div className="dialog-end">
        {onClose !== undefined && (
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
        )}
        <Button type="submit" loading={state.isBusy}>
          Commit
        </Button>
      </div>
    </form>
  );
};

function parseObject(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new TypeError("The manifest must be a JSON object.");
  }
  return value;
}

/** Returns the message of an error, with advice if the server rejected the commit with the status 409. */
function explainError(cause: unknown): string {
  const message = cause instanceof Error ? cause.message : String(cause);
  return cause instanceof ApiError && cause.status === 409
    ? `${message}. Either this commit changes nothing, or a newer commit exists. Your text is kept here. Open the latest commit in another tab and merge its changes.`
    : message;
}

import { Button, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { ApiError } from "../../api/http.ts";
import { Code } from "../../components/code/code.tsx";
import { FormError } from "../../components/dialog/form.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { firstDraft, toManifest, toPromptDraft, withDraft } from "./manifest-edit.ts";
import { toManifestText } from "./manifest.ts";
import { MessageEditor } from "./message-editor.tsx";
import { shortHash } from "./prompt.ts";
import { commitManifest } from "./queries.ts";
import type { PromptAddress } from "./queries.ts";

/** Writes the next commit: its messages, or its manifest as JSON. */
export const CommitEditor = ({
  address,
  manifest,
  parent,
  onClose,
}: {
  readonly address: PromptAddress;
  /** What is changed; `undefined`: this is the first commit. */
  readonly manifest: unknown;
  readonly parent: string | undefined;
  readonly onClose: (() => void) | undefined;
}) => {
  const client = useQueryClient();
  const navigate = useNavigate();
  const known = manifest === undefined ? firstDraft : toPromptDraft(manifest);
  const [draft, setDraft] = useState(known);
  const [raw, setRaw] = useState(() =>
    known === undefined ? toManifestText(manifest) : undefined,
  );
  const [description, setDescription] = useState("");
  const [state, setState] = useState<{ readonly isBusy: boolean; readonly error?: string }>({
    isBusy: false,
  });
  const toJson = (): unknown =>
    manifest === undefined || draft === undefined
      ? toManifest(draft ?? firstDraft)
      : withDraft(manifest, draft);
  const commit = async (): Promise<void> => {
    setState({ isBusy: true });
    try {
      await commitManifest(address, {
        manifest: raw === undefined ? toJson() : parseObject(raw),
        ...(parent === undefined ? {} : { parent_commit: parent }),
        ...(description === "" ? {} : { description }),
      });
      await client.invalidateQueries({ queryKey: ["prompts"] });
      onClose?.();
      await navigate({ to: "/prompts/$repo", params: { repo: address.repo } });
    } catch (cause) {
      setState({ isBusy: false, error: explain(cause) });
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
        {parent === undefined
          ? `The first commit of ${toVisibleText(address.repo)}.`
          : `On top of ${shortHash(parent)}.`}{" "}
        {known !== undefined && (
          <Button
            size="compact-xs"
            variant="subtle"
            onClick={() => setRaw(raw === undefined ? toManifestText(toJson()) : undefined)}
          >
            {raw === undefined ? "Edit the manifest" : "Edit the messages"}
          </Button>
        )}
        {known === undefined && "It holds what only its manifest can say."}
      </p>
      {raw === undefined && draft !== undefined ? (
        <MessageEditor draft={draft} onDraft={setDraft} />
      ) : (
        <Code
          label="Manifest"
          language="json"
          value={raw ?? ""}
          maxHeight={520}
          onChange={setRaw}
        />
      )}
      <TextInput
        label="What changed"
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
    throw new TypeError("A manifest is a JSON object.");
  }
  return value;
}

/** What is to be done about a refusal, where that is known. */
function explain(cause: unknown): string {
  const message = cause instanceof Error ? cause.message : String(cause);
  return cause instanceof ApiError && cause.status === 409
    ? `${message}. Either nothing was changed, or there is a newer commit: what is written here stays; open the latest commit in another tab and take over what is new.`
    : message;
}

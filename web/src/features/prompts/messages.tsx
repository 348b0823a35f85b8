import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Code } from "../../components/code/code.tsx";
import { Empty, Failure, Loading } from "../../components/page/states.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { CommitEditor } from "./commit-editor.tsx";
import { toManifestText, toPromptContent, variablesOf } from "./manifest.ts";
import { MessageList } from "./message-list.tsx";
import { PromptLink } from "./prompt-link.tsx";
import { shortHash } from "./prompt.ts";
import type { Prompt } from "./prompt.ts";
import { commitQuery, commitTagsQuery } from "./queries.ts";
import type { PromptAddress } from "./queries.ts";
import { TryIt } from "./try-it.tsx";

/** The content of a commit: its messages, its variables, and a try. */
export const Messages = ({
  prompt,
  address,
  commit,
  isOwn,
}: {
  readonly prompt: Prompt;
  readonly address: PromptAddress;
  readonly commit: string | undefined;
  readonly isOwn: boolean;
}) => {
  const [isEditing, setIsEditing] = useState(false);
  const [isRaw, setIsRaw] = useState(false);
  const hasCommits = prompt.commits > 0;
  const requested = useQuery({ ...commitQuery(address, commit ?? "latest"), enabled: hasCommits });
  const { data: tags = [] } = useQuery(commitTagsQuery(address));
  const pulled = requested.data;
  if (isEditing || (!hasCommits && isOwn)) {
    return (
      <CommitEditor
        key={prompt.lastHash ?? ""}
        address={address}
        manifest={pulled?.manifest}
        parent={pulled?.hash}
        onClose={hasCommits ? () => setIsEditing(false) : undefined}
      />
    );
  }
  if (!hasCommits) {
    return <Empty title="No commit yet." />;
  }
  if (pulled === undefined) {
    return requested.error === null ? (
      <Loading what="the commit" />
    ) : (
      <Failure what="the commit" error={requested.error} onRetry={requested.refetch} isOne>
        {commit !== undefined && <PromptLink commit={undefined}>See the latest commit</PromptLink>}
      </Failure>
    );
  }
  const content = toPromptContent(pulled.manifest);
  const isLatest = pulled.hash === prompt.lastHash;
  return (
    <>
      <div className="hub-commit">
        <code>{shortHash(pulled.hash)}</code>
        {tags
          .filter(({ hash }) => hash === pulled.hash)
          .map(({ name }) => (
            <span key={name} className="tag">
              {toVisibleText(name)}
            </span>
          ))}
        {isLatest ? (
          <span>the latest commit</span>
        ) : (
          <span>
            not the latest: <PromptLink commit={undefined}>see that</PromptLink>
          </span>
        )}
        <span className="hub-commit-end">
          {content !== undefined && (
            <Button size="compact-sm" variant="subtle" onClick={() => setIsRaw(!isRaw)}>
              {isRaw ? "Messages" : "Manifest"}
            </Button>
          )}
          {isOwn && (
            <Button size="compact-sm" variant="default" onClick={() => setIsEditing(true)}>
              Edit
            </Button>
          )}
        </span>
      </div>
      {content === undefined || isRaw ? (
        <>
          {content === undefined && (
            <p className="note">A manifest of a kind that this page does not know:</p>
          )}
          <Code
            label="Manifest"
            language="json"
            readOnly
            value={toManifestText(pulled.manifest)}
            maxHeight={640}
          />
        </>
      ) : (
        <div className="hub-columns">
          <MessageList content={content} />
          <TryIt key={pulled.hash} content={content} variables={variablesOf(content)} />
        </div>
      )}
    </>
  );
};

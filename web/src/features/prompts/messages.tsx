import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { Code } from "../../components/code/code.tsx";
import { Empty, Failure, Loading } from "../../components/page/states.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { CommitEditor } from "./commit-editor.tsx";
import { toManifestText, toPromptContent, listVariables } from "./manifest/manifest.ts";
import { MessageList } from "./message-list.tsx";
import { PromptLink } from "./prompt-link.tsx";
import { shortenHash, toExperimentPrompt } from "./prompt.ts";
import type { Prompt } from "./prompt.ts";
import { createCommitQuery, createCommitTagsQuery } from "./queries.ts";
import type { PromptAddress } from "./queries.ts";
import { VariablesPreview } from "./variables-preview.tsx";

/** The content of a commit: its messages, its variables and a preview. */
export const Messages = ({
  prompt,
  address,
  commit,
  isOwner,
}: {
  readonly prompt: Prompt;
  readonly address: PromptAddress;
  readonly commit: string | undefined;
  readonly isOwner: boolean;
}) => {
  const [isEditing, setIsEditing] = useState(false);
  const [isManifestShown, setIsManifestShown] = useState(false);
  const hasCommits = prompt.commitCount > 0;
  const commitResult = useQuery({
    ...createCommitQuery(address, commit ?? "latest"),
    enabled: hasCommits,
  });
  const { data: tags = [] } = useQuery(createCommitTagsQuery(address));
  const pulledCommit = commitResult.data;
  if (isEditing || (!hasCommits && isOwner)) {
    return (
      <CommitEditor
        key={prompt.lastHash ?? ""}
        address={address}
        manifest={pulledCommit?.manifest}
        parentHash={pulledCommit?.hash}
        onClose={hasCommits ? () => setIsEditing(false) : undefined}
      />
    );
  }
  if (!hasCommits) {
    return <Empty title="No commits yet" />;
  }
  if (pulledCommit === undefined) {
    return commitResult.error === null ? (
      <Loading resourceName="the commit" />
    ) : (
      <Failure
        resourceName="the commit"
        error={commitResult.error}
        onRetry={commitResult.refetch}
        isSingleResource
      >
        {commit !== undefined && <PromptLink commit={undefined}>View latest commit</PromptLink>}
      </Failure>
    );
  }
  const content = toPromptContent(pulledCommit.manifest);
  const isLatest = pulledCommit.hash === prompt.lastHash;
  return (
    <>
      <div className="hub-commit">
        <code>{shortenHash(pulledCommit.hash)}</code>
        {tags
          .filter(({ hash }) => hash === pulledCommit.hash)
          .map(({ name }) => (
            <span key={name} className="tag">
              {toVisibleText(name)}
            </span>
          ))}
        {isLatest ? (
          <span>Latest commit</span>
        ) : (
          <span>
            Not the latest commit. <PromptLink commit={undefined}>View latest commit</PromptLink>
          </span>
        )}
        <span className="hub-commit-end">
          {content !== undefined && (
            <Button
              size="compact-sm"
              variant="subtle"
              onClick={() => setIsManifestShown(!isManifestShown)}
            >
              {isManifestShown ? "Messages" : "Manifest"}
            </Button>
          )}
          <Button
            size="compact-sm"
            variant="default"
            renderRoot={(props) => (
              <Link
                to="/experiments/new"
                search={{ prompt: toExperimentPrompt(address, commit) }}
                {...props}
              />
            )}
          >
            Run over a dataset
          </Button>
          <Button
            size="compact-sm"
            variant="default"
            renderRoot={(props) => (
              <Link
                to="/playground"
                search={{
                  prompt: address.repo,
                  ...(address.owner === "-" ? {} : { owner: address.owner }),
                  ...(commit === undefined ? {} : { commit }),
                }}
                {...props}
              />
            )}
          >
            Open in playground
          </Button>
          {isOwner && (
            <Button size="compact-sm" onClick={() => setIsEditing(true)}>
              Edit prompt
            </Button>
          )}
        </span>
      </div>
      {content === undefined || isManifestShown ? (
        <>
          {content === undefined && (
            <p className="note">This manifest has an unknown format, so it is shown as JSON.</p>
          )}
          <Code
            label="Manifest"
            language="json"
            readOnly
            value={toManifestText(pulledCommit.manifest)}
            maxHeight={640}
          />
        </>
      ) : (
        <div className="hub-columns">
          <MessageList content={content} />
          <VariablesPreview
            key={pulledCommit.hash}
            content={content}
            variables={listVariables(content)}
          />
        </div>
      )}
    </>
  );
};

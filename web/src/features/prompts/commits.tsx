import { Button, TextInput } from "@mantine/core";
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { DialogForm } from "../../components/dialog/dialog-form.tsx";
import { Dialog } from "../../components/dialog/dialog.tsx";
import { toFieldFault } from "../../components/dialog/field-fault.ts";
import { FormError } from "../../components/dialog/form.tsx";
import { Empty, Failure, Loading } from "../../components/page/states.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { Ago } from "../../components/time/ago.tsx";
import { ManifestDiff } from "./manifest-diff.tsx";
import { PromptLink } from "./prompt-link.tsx";
import { shortenHash } from "./prompt.ts";
import type { Commit, CommitTag, Prompt } from "./prompt.ts";
import {
  createCommitQuery,
  createCommitsQuery,
  createCommitTagsQuery,
  commitManifest,
  tagCommit,
  untagCommit,
} from "./queries.ts";
import type { PromptAddress } from "./queries.ts";

interface CommitsProps {
  readonly prompt: Prompt;
  readonly address: PromptAddress;
  /** The commit in the URL: a hash, the beginning of a hash, or a tag; `undefined` for the latest commit. */
  readonly commit: string | undefined;
  /** Hash of the commit to compare with; `undefined` for the parent. */
  readonly against: string | undefined;
  readonly isOwner: boolean;
}

/** The commits of a prompt, and the differences between two of them. */
export const Commits = ({ prompt, address, commit, against, isOwner }: CommitsProps) => {
  const pages = useInfiniteQuery(createCommitsQuery(address));
  const { data: tags = [], isPending: areTagsLoading } = useQuery(createCommitTagsQuery(address));
  const [commitToTag, setCommitToTag] = useState<Commit>();
  const [commitToRestore, setCommitToRestore] = useState<Commit>();
  const restore = useRestore(prompt, address);
  const commits = pages.data?.pages.flatMap((page) => page.commits);
  const hashStart = tags.find(({ name }) => name === commit)?.hash ?? commit;
  const shownCommit =
    hashStart === undefined
      ? commits?.[0]
      : commits?.find(({ hash }) => hash.startsWith(hashStart));
  // The commit may be on a later page of the list. Load that page, because the parent of the commit is unknown without
  // it.
  const { hasNextPage, isFetching, isError, fetchNextPage } = pages;
  const mustLoadNext = shownCommit === undefined && !areTagsLoading && hasNextPage && !isError;
  useEffect(() => {
    if (mustLoadNext && !isFetching) {
      void fetchNextPage();
    }
  }, [mustLoadNext, isFetching, fetchNextPage]);
  if (commits === undefined) {
    return pages.error === null ? (
      <Loading resourceName="the commits" />
    ) : (
      <Failure resourceName="the commits" error={pages.error} onRetry={pages.refetch} />
    );
  }
  if (commits.length === 0) {
    return <Empty title="No commits yet" />;
  }
  const baseHash = against ?? shownCommit?.parentHash;
  return (
    <div className="hub-history">
      <ol className="hub-commits" aria-label="Commits">
        {commits.map((listedCommit) => (
          <li key={listedCommit.hash} data-open={listedCommit === shownCommit}>
            <span className="hub-commit">
              <PromptLink
                commit={shortenHash(listedCommit.hash)}
                search={{ tab: "commits" }}
                isCurrent={listedCommit === shownCommit}
              >
                <code>{shortenHash(listedCommit.hash)}</code>
              </PromptLink>
              {tags
                .filter(({ hash }) => hash === listedCommit.hash)
                .map(({ name }) => (
                  <span key={name} className="tag">
                    {toVisibleText(name)}
                  </span>
                ))}
              {listedCommit.createdMs !== undefined && <Ago timeMs={listedCommit.createdMs} />}
            </span>
            {listedCommit.description !== "" && (
              <span>{toVisibleText(listedCommit.description)}</span>
            )}
            <span className="hub-commit-end">
              {shownCommit !== undefined && listedCommit !== shownCommit && (
                <PromptLink
                  commit={shortenHash(shownCommit.hash)}
                  search={{ tab: "commits", against: shortenHash(listedCommit.hash) }}
                >
                  Compare with open commit
                </PromptLink>
              )}
              {isOwner && (
                <Button
                  size="compact-xs"
                  variant="subtle"
                  onClick={() => setCommitToTag(listedCommit)}
                >
                  Edit tags
                </Button>
              )}
              {isOwner && listedCommit.hash !== prompt.lastHash && (
                <Button
                  size="compact-xs"
                  variant="subtle"
                  aria-label={`Restore ${shortenHash(listedCommit.hash)}`}
                  onClick={() => setCommitToRestore(listedCommit)}
                >
                  Restore
                </Button>
              )}
            </span>
          </li>
        ))}
        {pages.hasNextPage && (
          <li>
            <Button size="xs" variant="default" onClick={() => void pages.fetchNextPage()}>
              Show earlier commits
            </Button>
          </li>
        )}
      </ol>
      {mustLoadNext || (shownCommit === undefined && areTagsLoading) ? (
        <Loading resourceName="the changes" />
      ) : (
        <CommitDiff
          address={address}
          commit={shownCommit?.hash ?? commit ?? prompt.lastHash ?? "latest"}
          baseHash={baseHash}
        />
      )}
      {commitToRestore !== undefined && (
        <DialogForm
          title={`Restore ${shortenHash(commitToRestore.hash)}?`}
          action="Restore"
          onClose={() => setCommitToRestore(undefined)}
          onSubmit={async () => restore(commitToRestore)}
        >
          <p>
            A new commit with the content of {shortenHash(commitToRestore.hash)} becomes the latest
            commit{prompt.lastHash !== undefined && `, in place of ${shortenHash(prompt.lastHash)}`}
            . Programs that use the latest commit then get the new commit. No commit is deleted, and
            tags stay on their commits.
          </p>
        </DialogForm>
      )}
      {commitToTag !== undefined && (
        <TagDialog
          address={address}
          commit={commitToTag}
          tags={tags}
          onClose={() => setCommitToTag(undefined)}
        />
      )}
    </div>
  );
};

/**
 * Returns a function that restores an earlier commit: it creates a new commit with the same manifest, so that no commit
 * is lost.
 */
const useRestore = (prompt: Prompt, address: PromptAddress) => {
  const client = useQueryClient();
  const navigate = useNavigate();
  return async ({ hash }: Commit): Promise<void> => {
    const { manifest } = await client.fetchQuery(createCommitQuery(address, hash));
    await commitManifest(address, {
      manifest,
      description: `Restore ${shortenHash(hash)}`,
      ...(prompt.lastHash === undefined ? {} : { parent_commit: prompt.lastHash }),
    });
    await client.invalidateQueries({ queryKey: ["prompts"] });
    await navigate({
      to: "/prompts/$repo",
      params: { repo: address.repo },
      search: { tab: "commits" },
    });
  };
};

const CommitDiff = ({
  address,
  commit,
  baseHash,
}: {
  readonly address: PromptAddress;
  readonly commit: string;
  /** Hash of the commit to compare with; `undefined` if `commit` is the first one. */
  readonly baseHash: string | undefined;
}) => {
  const commitResult = useQuery(createCommitQuery(address, commit));
  const baseResult = useQuery({
    ...createCommitQuery(address, baseHash ?? "latest"),
    enabled: baseHash !== undefined,
  });
  const error = commitResult.error ?? baseResult.error;
  if (error !== null) {
    return (
      <Failure
        resourceName="the commits"
        error={error}
        onRetry={async () => Promise.all([commitResult.refetch(), baseResult.refetch()])}
        isSingleResource
      >
        <PromptLink commit={undefined} search={{ tab: "commits" }}>
          View latest commit
        </PromptLink>
      </Failure>
    );
  }
  if (
    commitResult.data === undefined ||
    (baseHash !== undefined && baseResult.data === undefined)
  ) {
    return <Loading resourceName="the changes" />;
  }
  const label =
    baseResult.data === undefined || baseHash === undefined
      ? `${shortenHash(commitResult.data.hash)} (first commit)`
      : `${shortenHash(baseResult.data.hash)} → ${shortenHash(commitResult.data.hash)}`;
  return (
    <section className="hub-diff" aria-label="Changes in this commit">
      <ManifestDiff
        label={label}
        before={baseHash === undefined ? undefined : baseResult.data?.manifest}
        after={commitResult.data.manifest}
      />
    </section>
  );
};

const TagDialog = ({
  address,
  commit,
  tags,
  onClose,
}: {
  readonly address: PromptAddress;
  readonly commit: Commit;
  readonly tags: readonly CommitTag[];
  readonly onClose: () => void;
}) => {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [nameFault, setNameFault] = useState<string>();
  const [error, setError] = useState<string>();
  const commitTags = tags.filter(({ hash }) => hash === commit.hash);
  const runAction = async (
    action: () => Promise<unknown>,
    showFault: (text: string) => void,
  ): Promise<void> => {
    setNameFault(undefined);
    setError(undefined);
    try {
      await action();
      await client.invalidateQueries({ queryKey: ["prompts"] });
      onClose();
    } catch (cause) {
      showFault(toFieldFault(cause).text);
    }
  };
  return (
    <Dialog title={`Tags of ${shortenHash(commit.hash)}`} onClose={onClose}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          void runAction(
            async () => tagCommit(address, { tag_name: name, commit_id: commit.id }),
            setNameFault,
          );
        }}
      >
        {commitTags.map((tag) => (
          <div key={tag.name} className="hub-draft-head">
            <span className="tag">{toVisibleText(tag.name)}</span>
            <Button
              size="compact-xs"
              variant="subtle"
              color="red"
              onClick={() => void runAction(async () => untagCommit(address, tag.name), setError)}
            >
              Remove tag
            </Button>
          </div>
        ))}
        <TextInput
          label="Tag"
          description="Use letters, digits, periods, hyphens and underscores. If another commit has this tag, the tag moves to this commit."
          required
          error={nameFault}
          value={name}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
        />
        <FormError error={error} />
        <div className="dialog-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit">Add tag</Button>
        </div>
      </form>
    </Dialog>
  );
};

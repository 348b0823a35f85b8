import { Button, TextInput } from "@mantine/core";
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { TextDiff } from "../../components/code/text-diff.tsx";
import { Dialog } from "../../components/dialog/dialog.tsx";
import { FormError } from "../../components/dialog/form.tsx";
import { Empty, Failure, Loading } from "../../components/page/states.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { Ago } from "../../components/time/ago.tsx";
import { toDiffText } from "./manifest.ts";
import { PromptLink } from "./prompt-link.tsx";
import { shortHash } from "./prompt.ts";
import type { Commit, CommitTag, Prompt } from "./prompt.ts";
import { commitQuery, commitsQuery, commitTagsQuery, tagCommit, untagCommit } from "./queries.ts";
import type { PromptAddress } from "./queries.ts";

interface CommitsProps {
  readonly prompt: Prompt;
  readonly address: PromptAddress;
  /** The one of the address; the latest where it names none. */
  readonly commit: string | undefined;
  /** The one that it is compared with. */
  readonly against: string | undefined;
  readonly isOwn: boolean;
}

/** The commits of a prompt, and what differs between two of them. */
export const Commits = ({ prompt, address, commit, against, isOwn }: CommitsProps) => {
  const pages = useInfiniteQuery(commitsQuery(address));
  const { data: tags = [] } = useQuery(commitTagsQuery(address));
  const [tagged, setTagged] = useState<Commit>();
  const commits = pages.data?.pages.flatMap((page) => page.commits);
  if (commits === undefined) {
    return pages.error === null ? (
      <Loading what="the commits" />
    ) : (
      <Failure what="the commits" error={pages.error} onRetry={pages.refetch} />
    );
  }
  if (commits.length === 0) {
    return <Empty title="No commit yet." />;
  }
  const shown =
    commits.find(({ hash }) => commit !== undefined && hash.startsWith(commit)) ??
    (commit === undefined ? commits[0] : undefined);
  const before = against ?? shown?.parentHash;
  return (
    <div className="hub-history">
      <ol className="hub-commits" aria-label="Commits">
        {commits.map((one) => (
          <li key={one.hash} data-open={one === shown}>
            <span className="hub-commit">
              <PromptLink
                commit={shortHash(one.hash)}
                search={{ tab: "commits" }}
                isCurrent={one === shown}
              >
                <code>{shortHash(one.hash)}</code>
              </PromptLink>
              {tags
                .filter(({ hash }) => hash === one.hash)
                .map(({ name }) => (
                  <span key={name} className="tag">
                    {toVisibleText(name)}
                  </span>
                ))}
              {one.createdMs !== undefined && <Ago at={one.createdMs} />}
            </span>
            {one.description !== "" && <span>{toVisibleText(one.description)}</span>}
            <span className="hub-commit-end">
              {shown !== undefined && one !== shown && (
                <PromptLink
                  commit={shortHash(shown.hash)}
                  search={{ tab: "commits", against: shortHash(one.hash) }}
                >
                  Compare
                </PromptLink>
              )}
              {isOwn && (
                <Button size="compact-xs" variant="subtle" onClick={() => setTagged(one)}>
                  Tag
                </Button>
              )}
            </span>
          </li>
        ))}
        {pages.hasNextPage && (
          <li>
            <Button size="xs" variant="default" onClick={() => void pages.fetchNextPage()}>
              Earlier commits
            </Button>
          </li>
        )}
      </ol>
      <CommitDiff
        address={address}
        commit={shown?.hash ?? commit ?? prompt.lastHash ?? "latest"}
        before={before}
      />
      {tagged !== undefined && (
        <TagDialog
          address={address}
          commit={tagged}
          tags={tags}
          onClose={() => setTagged(undefined)}
        />
      )}
    </div>
  );
};

const CommitDiff = ({
  address,
  commit,
  before,
}: {
  readonly address: PromptAddress;
  readonly commit: string;
  readonly before: string | undefined;
}) => {
  const after = useQuery(commitQuery(address, commit));
  const old = useQuery({
    ...commitQuery(address, before ?? "latest"),
    enabled: before !== undefined,
  });
  const error = after.error ?? old.error;
  if (error !== null) {
    return (
      <Failure
        what="the commits"
        error={error}
        onRetry={async () => Promise.all([after.refetch(), old.refetch()])}
        isOne
      >
        <PromptLink commit={undefined} search={{ tab: "commits" }}>
          See the latest commit
        </PromptLink>
      </Failure>
    );
  }
  if (after.data === undefined || (before !== undefined && old.data === undefined)) {
    return <Loading what="the difference" />;
  }
  const names =
    old.data === undefined || before === undefined
      ? `${shortHash(after.data.hash)}, the first commit`
      : `${shortHash(old.data.hash)} → ${shortHash(after.data.hash)}`;
  return (
    <section className="hub-diff" aria-label="Difference">
      <TextDiff
        label={names}
        before={before === undefined ? "" : toDiffText(old.data?.manifest)}
        after={toDiffText(after.data.manifest)}
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
  const [error, setError] = useState<string>();
  const own = tags.filter(({ hash }) => hash === commit.hash);
  const attempt = async (action: () => Promise<unknown>): Promise<void> => {
    try {
      await action();
      await client.invalidateQueries({ queryKey: ["prompts"] });
      onClose();
    } catch (cause) {
      setError(cause instanceof Error ? cause.message : String(cause));
    }
  };
  return (
    <Dialog title={`Tags of ${shortHash(commit.hash)}`} onClose={onClose}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          void attempt(async () => tagCommit(address, { tag_name: name, commit_id: commit.id }));
        }}
      >
        {own.map((tag) => (
          <div key={tag.name} className="hub-draft-head">
            <span className="tag">{toVisibleText(tag.name)}</span>
            <Button
              size="compact-xs"
              variant="subtle"
              color="red"
              onClick={() => void attempt(async () => untagCommit(address, tag.name))}
            >
              Remove
            </Button>
          </div>
        ))}
        <TextInput
          label="Tag"
          description="Letters, digits, . - and _. A tag that another commit has moves here."
          required
          value={name}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
        />
        <FormError error={error} />
        <div className="dialog-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit">Tag</Button>
        </div>
      </form>
    </Dialog>
  );
};

import { useQuery } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import { tenantQuery } from "../../api/tenant.ts";
import { AbsentView } from "../../components/page/absent-view.tsx";
import { CopyText } from "../../components/code/copy-text.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { Commits } from "./commits.tsx";
import { LikeButton } from "./like-button.tsx";
import { Messages } from "./messages.tsx";
import { PromptLink, usePromptAddress } from "./prompt-link.tsx";
import { PromptMenu } from "./prompt-menu.tsx";
import { PromptSettings } from "./prompt-settings.tsx";
import { shortenHash, toLangChainCode, toPullCode } from "./prompt.ts";
import type { Prompt } from "./prompt.ts";
import { parsePromptSearch } from "./prompts-search.ts";
import type { PromptTab } from "./prompts-search.ts";
import { createPromptQuery } from "./queries.ts";

import { Readme } from "./readme.tsx";
import "./prompts.css";
import { readServerUrl } from "../../api/base-path.ts";

const tabLabels: { readonly [Tab in PromptTab]: string } = {
  messages: "Prompt",
  commits: "Commits",
  readme: "README",
  pull: "Code",
  settings: "Settings",
};

/** The pages `/prompts/{repo}[/{commit}]` and `/hub/{owner}/{repo}[/{commit}]`, which show one prompt. */
export const PromptPage = () => {
  const { address, commit, isHub } = usePromptAddress();
  const { tab = "messages", against } = parsePromptSearch(useSearch({ strict: false }));
  const { data: prompt, error, refetch } = useQuery(createPromptQuery(address));
  const { data: tenant } = useQuery(tenantQuery);
  if (prompt === undefined) {
    return (
      <AbsentView title="Prompt" resourceName="the prompt" error={error} onRetry={refetch}>
        {isHub ? <Link to="/hub">Prompt hub</Link> : <Link to="/prompts">Prompts</Link>}
      </AbsentView>
    );
  }
  const isOwner = prompt.tenantId === tenant?.id;
  const tabs = Object.keys(tabLabels).filter(
    (name) => name !== "settings" || isOwner,
  ) as PromptTab[];
  const shownTab = tabs.includes(tab) ? tab : "messages";
  return (
    <div>
      <title>{`${toVisibleText(prompt.repo)} · Millrace`}</title>
      <header className="heading">
        <div>
          <p className="crumbs">
            {isHub ? <Link to="/hub">Prompt hub</Link> : <Link to="/prompts">Prompts</Link>}
          </p>
          <h1>
            <bdi>
              {toVisibleText(isHub ? `${prompt.owner ?? "-"}/${prompt.repo}` : prompt.repo)}
            </bdi>
          </h1>
          <PromptFacts prompt={prompt} />
        </div>
        <div className="tools">
          <LikeButton prompt={prompt} />
          {isOwner && <PromptMenu prompt={prompt} address={address} />}
        </div>
      </header>
      <nav className="tabs" aria-label="Prompt sections">
        {tabs.map((name) => (
          <PromptLink
            key={name}
            commit={commit}
            search={name === "messages" ? {} : { tab: name }}
            isCurrent={name === shownTab}
          >
            {tabLabels[name]}
          </PromptLink>
        ))}
      </nav>
      <div className="hub-body">
        {shownTab === "messages" && (
          <Messages prompt={prompt} address={address} commit={commit} isOwner={isOwner} />
        )}
        {shownTab === "commits" && (
          <Commits
            prompt={prompt}
            address={address}
            commit={commit}
            against={against}
            isOwner={isOwner}
          />
        )}
        {shownTab === "readme" && <Readme prompt={prompt} address={address} isOwner={isOwner} />}
        {shownTab === "pull" && <PullCode prompt={prompt} commit={commit} isOwner={isOwner} />}
        {shownTab === "settings" && <PromptSettings prompt={prompt} address={address} />}
      </div>
    </div>
  );
};

const PromptFacts = ({ prompt }: { readonly prompt: Prompt }) => (
  <>
    {prompt.description !== "" && <p className="about">{toVisibleText(prompt.description)}</p>}
    <p className="summary hub-facts">
      <span>{prompt.isPublic ? "Public" : "Private"}</span>
      {prompt.isArchived && <span className="bad">Archived</span>}
      <span>
        {prompt.commitCount.toLocaleString("en")} {prompt.commitCount === 1 ? "commit" : "commits"}
      </span>
      <span>
        {prompt.downloads.toLocaleString("en")} {prompt.downloads === 1 ? "download" : "downloads"}
      </span>
      {prompt.tags.map((tag) => (
        <span key={tag} className="tag">
          {toVisibleText(tag)}
        </span>
      ))}
    </p>
  </>
);

/** Shows code that pulls the prompt at the open commit. */
const PullCode = ({
  prompt,
  commit,
  isOwner,
}: {
  readonly prompt: Prompt;
  /** The commit as the URL names it: by hash, by the beginning of a hash, or by tag. */
  readonly commit: string | undefined;
  readonly isOwner: boolean;
}) => {
  const { owner, repo, lastHash } = prompt;
  const commitName = commit ?? (lastHash === undefined ? undefined : shortenHash(lastHash));
  const fullName = isOwner || owner === undefined ? repo : `${owner}/${repo}`;
  const name = commitName === undefined ? fullName : `${fullName}:${commitName}`;
  return (
    <section className="hub-code" aria-label="Code">
      <CopyText label="TypeScript" text={toPullCode(name, readServerUrl())} language="ts" />
      <CopyText
        label="LangChain (TypeScript)"
        text={toLangChainCode(name, readServerUrl())}
        language="ts"
      />
      <p className="note">
        Without <code>:{commitName ?? "commit"}</code>, the latest commit is pulled. A tag in place
        of the commit pulls the tagged commit.
      </p>
    </section>
  );
};

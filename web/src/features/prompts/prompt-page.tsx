import { useQuery } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import { tenantQuery } from "../../api/tenant.ts";
import { AbsentView } from "../../components/page/absent-view.tsx";
import { CopyText } from "../../components/text/copy-text.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { Commits } from "./commits.tsx";
import { LikeButton } from "./like-button.tsx";
import { Messages } from "./messages.tsx";
import { PromptLink, usePromptAddress } from "./prompt-link.tsx";
import { PromptSettings } from "./prompt-settings.tsx";
import { langchainProgram, pullProgram, shortHash } from "./prompt.ts";
import type { Prompt } from "./prompt.ts";
import { parsePromptSearch } from "./prompts-search.ts";
import type { PromptTab } from "./prompts-search.ts";
import { promptQuery } from "./queries.ts";
import { Readme } from "./readme.tsx";
import "./prompts.css";

const tabNames: { readonly [Tab in PromptTab]: string } = {
  messages: "Prompt",
  commits: "Commits",
  readme: "README",
  pull: "Use it",
  settings: "Settings",
};

/** `/prompts/{repo}[/{commit}]` and `/hub/{owner}/{repo}[/{commit}]`: one prompt. */
export const PromptPage = () => {
  const { address, commit, isHub } = usePromptAddress();
  const { tab = "messages", against } = parsePromptSearch(useSearch({ strict: false }));
  const { data: prompt, error, refetch } = useQuery(promptQuery(address));
  const { data: tenant } = useQuery(tenantQuery);
  if (prompt === undefined) {
    return (
      <AbsentView title="Prompt" what="the prompt" error={error} onRetry={refetch}>
        {isHub ? <Link to="/hub">Prompt hub</Link> : <Link to="/prompts">Prompts</Link>}
      </AbsentView>
    );
  }
  const isOwn = prompt.tenantId === tenant?.id;
  const tabs = Object.keys(tabNames).filter((name) => name !== "settings" || isOwn) as PromptTab[];
  const shown = tabs.includes(tab) ? tab : "messages";
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
          <Facts prompt={prompt} />
        </div>
        <LikeButton prompt={prompt} />
      </header>
      <nav className="tabs" aria-label="Parts of the prompt">
        {tabs.map((name) => (
          <PromptLink
            key={name}
            commit={commit}
            search={name === "messages" ? {} : { tab: name }}
            isCurrent={name === shown}
          >
            {tabNames[name]}
          </PromptLink>
        ))}
      </nav>
      <div className="hub-body">
        {shown === "messages" && (
          <Messages prompt={prompt} address={address} commit={commit} isOwn={isOwn} />
        )}
        {shown === "commits" && (
          <Commits
            prompt={prompt}
            address={address}
            commit={commit}
            against={against}
            isOwn={isOwn}
          />
        )}
        {shown === "readme" && <Readme prompt={prompt} address={address} isOwn={isOwn} />}
        {shown === "pull" && <PullCode prompt={prompt} commit={commit} isOwn={isOwn} />}
        {shown === "settings" && <PromptSettings prompt={prompt} address={address} />}
      </div>
    </div>
  );
};

const Facts = ({ prompt }: { readonly prompt: Prompt }) => (
  <>
    {prompt.description !== "" && <p className="about">{toVisibleText(prompt.description)}</p>}
    <p className="summary hub-facts">
      <span>{prompt.isPublic ? "Public" : "Private"}</span>
      {prompt.isArchived && <span className="bad">Archived</span>}
      <span>
        {prompt.commits.toLocaleString("en")} {prompt.commits === 1 ? "commit" : "commits"}
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

/** The programs that pull this commit. */
const PullCode = ({
  prompt,
  commit,
  isOwn,
}: {
  readonly prompt: Prompt;
  /** As the address names it: a hash, the beginning of one, or a tag. */
  readonly commit: string | undefined;
  readonly isOwn: boolean;
}) => {
  const { owner, repo, lastHash } = prompt;
  const version = commit ?? (lastHash === undefined ? undefined : shortHash(lastHash));
  const whole = isOwn || owner === undefined ? repo : `${owner}/${repo}`;
  const name = version === undefined ? whole : `${whole}:${version}`;
  return (
    <section className="hub-code" aria-label="Use it">
      <CopyText label="TypeScript, this commit" text={pullProgram(name, location.origin)} />
      <CopyText label="As a prompt of LangChain" text={langchainProgram(name, location.origin)} />
      <p className="note">
        Without <code>:{version ?? "commit"}</code> the latest commit is pulled; a tag in its place
        pulls whatever the tag is at.
      </p>
    </section>
  );
};

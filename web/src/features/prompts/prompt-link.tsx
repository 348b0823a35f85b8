import { Link, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { PromptSearch } from "./prompts-search.ts";
import type { PromptAddress } from "./queries.ts";

/** A link to a commit of the open prompt. Without `commit`, it leads to the latest commit. */
export const PromptLink = ({
  commit,
  search = {},
  isCurrent = false,
  children,
}: {
  readonly commit: string | undefined;
  readonly search?: PromptSearch;
  readonly isCurrent?: boolean;
  readonly children: ReactNode;
}) => {
  const { address, isHub } = usePromptAddress();
  const { owner, repo } = address;
  const linkProps = {
    search,
    // Compare the search parameters, too, to find the current link, because some links differ only in them.
    activeOptions: { exact: true, includeSearch: true },
    "aria-current": isCurrent ? ("page" as const) : undefined,
    children,
  };
  if (isHub) {
    return commit === undefined ? (
      <Link to="/hub/$owner/$repo" params={{ owner, repo }} {...linkProps} />
    ) : (
      <Link to="/hub/$owner/$repo/$commit" params={{ owner, repo, commit }} {...linkProps} />
    );
  }
  return commit === undefined ? (
    <Link to="/prompts/$repo" params={{ repo }} {...linkProps} />
  ) : (
    <Link to="/prompts/$repo/$commit" params={{ repo, commit }} {...linkProps} />
  );
};

/**
 * Reads the prompt and the commit from the URL. A path `/prompts/…` names a prompt of the current tenant, and a path
 * `/hub/…` a prompt of any tenant.
 */
export function usePromptAddress(): {
  readonly address: PromptAddress;
  readonly commit: string | undefined;
  readonly isHub: boolean;
} {
  const { owner, repo = "", commit } = useParams({ strict: false });
  return { address: { owner: owner ?? "-", repo }, commit, isHub: owner !== undefined };
}

import type { KeyValues } from "../../main/index.ts";
import { omitUndefined } from "../../templates/compiled-prompt.ts";
import type { PromptIdentity } from "../../templates/compiled-prompt.ts";

/**
 * Returns the metadata that identifies the prompt of a run: `prompt_name`, `prompt_commit` and `prompt_source`. The
 * keys `lc_hub_owner`, `lc_hub_repo` and `lc_hub_commit_hash` are added so that LangSmith links the run to its prompt,
 * unless the prompt is a fallback, which has no commit.
 */
export function toPromptMetadata({ owner, repo, commitHash, source }: PromptIdentity): KeyValues {
  const link =
    commitHash === undefined
      ? {}
      : { lc_hub_owner: owner, lc_hub_repo: repo, lc_hub_commit_hash: commitHash };
  return omitUndefined({
    prompt_name: owner === "-" ? repo : `${owner}/${repo}`,
    prompt_commit: commitHash,
    prompt_source: source,
    ...link,
  });
}

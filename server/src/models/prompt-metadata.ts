import type { JsonObject } from "./json-value.ts";

/**
 * Creates the metadata of a run of the prompt `owner/repo:commit`. It contains this name, which the UI reads. It
 * also contains `prompt_name`, `prompt_commit`, `lc_hub_owner`, `lc_hub_repo` and `lc_hub_commit_hash`, which
 * the SDK records, too, and by which LangSmith links a run to its prompt.
 */
export function createPromptMetadata(prompt: string): JsonObject {
  const match = /^(?:([^/:]+)\/)?([^/:]+):([^/:]+)$/.exec(prompt);
  if (match === null) {
    return { prompt };
  }
  const [, owner, repo = "", hash = ""] = match;
  return {
    prompt,
    prompt_name: owner === undefined ? repo : `${owner}/${repo}`,
    prompt_commit: hash,
    lc_hub_owner: owner ?? "-",
    lc_hub_repo: repo,
    lc_hub_commit_hash: hash,
  };
}

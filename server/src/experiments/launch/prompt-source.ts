import { RequestError } from "../../model/errors.ts";
import type { PromptReads } from "../../prompts/prompt.ts";

interface PromptCommitText {
  /** `owner/repo:commit` with the whole hash. */
  readonly commit: string;
  /** JSON of the manifest. */
  readonly manifest: string;
}

/** The owner in the name of a prompt that belongs to the caller's own tenant. */
const ownOwner = "-";

/**
 * Reads a commit of a prompt by its name `owner/repo:commit`. Without an owner, the prompt is one of the tenant's own;
 * without a commit, its latest commit is read.
 *
 * @throws RequestError 404: there is no such prompt or commit. 422: the name is malformed.
 */
export async function readPromptCommit(
  prompts: Pick<PromptReads, "pull">,
  tenantId: string,
  name: string,
): Promise<PromptCommitText> {
  const match = /^(?:([^/:]+)\/)?([^/:]+)(?::([^/:]+))?$/.exec(name);
  if (match === null) {
    throw new RequestError(
      422,
      `prompt must be named owner/repo:commit, or repo for the latest commit of your own prompt, not ${JSON.stringify(name)}`,
    );
  }
  const [, owner = ownOwner, repo = "", commitName = "latest"] = match;
  const { commit, manifest } = await prompts.pull(tenantId, { owner, repo }, commitName);
  const handle = owner === ownOwner ? repo : `${owner}/${repo}`;
  return { commit: `${handle}:${commit.hash}`, manifest };
}

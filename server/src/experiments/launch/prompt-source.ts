import { RequestError } from "../../model/errors.ts";
import type { PromptReads } from "../../prompts/prompt.ts";

interface PromptCommitText {
  /** `owner/repo:commit` with the whole hash. */
  readonly commit: string;
  /** JSON of the manifest. */
  readonly manifest: string;
}

/** Owner of the prompts of the own tenant. */
const ownOwner = "-";

/**
 * Reads the commit of a prompt that is named as `owner/repo:commit`; without an owner one of the tenant, without a commit
 * the latest.
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

import { langchainProgram, pullProgram, shortHash } from "./prompt.ts";
import type { Prompt } from "./prompt.ts";
import { CopyText } from "../../components/text/copy-text.tsx";

/** The programs that pull this commit. */
export const PullCode = ({
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

import { requireItems, toRecord, toText } from "../../api/parse.ts";
import type { JsonMembers } from "../../api/parse.ts";
import { parseTimeMs } from "../../components/time/time.ts";

/** A prompt: a repository of commits, with a description and a README. */
export interface Prompt {
  readonly id: string;
  readonly tenantId: string;
  /** Handle of the tenant; absent if the tenant has no handle. */
  readonly owner: string | undefined;
  readonly repo: string;
  readonly description: string;
  readonly readme: string;
  readonly tags: readonly string[];
  readonly isPublic: boolean;
  readonly isArchived: boolean;
  readonly isLiked: boolean;
  readonly likes: number;
  readonly downloads: number;
  readonly views: number;
  readonly commitCount: number;
  readonly lastHash: string | undefined;
  readonly updatedMs: number | undefined;
}

export interface PromptListPage {
  readonly prompts: readonly Prompt[];
  readonly total: number;
}

/** A commit, without its manifest. */
export interface Commit {
  readonly id: string;
  readonly hash: string;
  readonly parentHash: string | undefined;
  readonly description: string;
  readonly createdMs: number | undefined;
  readonly downloads: number;
}

export interface CommitPage {
  readonly commits: readonly Commit[];
  readonly total: number;
}

export interface PulledCommit {
  readonly hash: string;
  readonly manifest: unknown;
}

export interface CommitTag {
  readonly name: string;
  readonly hash: string;
}

/** Returns the beginning of a hash, for display and for links. The server accepts it in place of the whole hash. */
export const shortenHash = (hash: string): string => hash.slice(0, 8);

/** @throws TypeError `value` is not a prompt. */
export function parsePrompt(value: unknown): Prompt {
  const prompt = toRecord(value);
  const [id, repo] = [toText(prompt["id"]), toText(prompt["repo_handle"])];
  if (id === undefined || repo === undefined) {
    throw new TypeError("the server's response is not a prompt");
  }
  return {
    id,
    repo,
    tenantId: toText(prompt["tenant_id"]) ?? "",
    owner: toText(prompt["owner"]),
    description: toText(prompt["description"]) ?? "",
    readme: toText(prompt["readme"]) ?? "",
    tags: Array.isArray(prompt["tags"]) ? prompt["tags"].map(String) : [],
    isPublic: prompt["is_public"] === true,
    isArchived: prompt["is_archived"] === true,
    isLiked: prompt["liked_by_auth_user"] === true,
    likes: toNumber(prompt["num_likes"]),
    downloads: toNumber(prompt["num_downloads"]),
    views: toNumber(prompt["num_views"]),
    commitCount: toNumber(prompt["num_commits"]),
    lastHash: toText(prompt["last_commit_hash"]),
    updatedMs: parseTimeMs(prompt["updated_at"]),
  };
}

/** @throws TypeError `value` is not a list of prompts. */
export function parsePromptPage(value: unknown): PromptListPage {
  const { repos, total } = toRecord(value);
  return {
    prompts: requireItems(repos, "prompts").map(toRecord).map(parsePrompt),
    total: toNumber(total),
  };
}

export function parseCommitPage(value: unknown): CommitPage {
  const { commits, total } = toRecord(value);
  return {
    commits: requireItems(commits, "commits").map(toRecord).map(parseCommit),
    total: toNumber(total),
  };
}

export const parseCommit = (commit: JsonMembers): Commit => ({
  id: toText(commit["id"]) ?? "",
  hash: toText(commit["commit_hash"]) ?? "",
  parentHash: toText(commit["parent_commit_hash"]),
  description: toText(commit["description"]) ?? "",
  createdMs: parseTimeMs(commit["created_at"]),
  downloads: toNumber(commit["num_downloads"]),
});

export function parsePulledCommit(value: unknown): PulledCommit {
  const { commit_hash, manifest } = toRecord(value);
  return { hash: toText(commit_hash) ?? "", manifest };
}

export const parseCommitTags = (value: unknown): readonly CommitTag[] =>
  requireItems(value, "tags")
    .map(toRecord)
    .map(({ tag_name, commit_hash }) => ({
      name: toText(tag_name) ?? "",
      hash: toText(commit_hash) ?? "",
    }));

const toNumber = (value: unknown): number => (typeof value === "number" ? value : 0);

/** Returns a program that pulls a commit. `name` is the argument of `prompts.pull`: the prompt, or `prompt:commit`. */
export const toPullCode = (
  name: string,
  endpoint: string,
): string => `import { Client } from "millrace";

const client = new Client({ endpoint: ${JSON.stringify(endpoint)} });
const { manifest, commitHash } = await client.prompts.pull(${JSON.stringify(name)});
console.log(commitHash, manifest);
await client.close();
`;

/** Returns a program that pulls a commit and loads it as a LangChain prompt. */
export const toLangChainCode = (
  name: string,
  endpoint: string,
): string => `import { load } from "@langchain/core/load";
import { Client } from "millrace";

const client = new Client({ endpoint: ${JSON.stringify(endpoint)} });
const { manifest } = await client.prompts.pull(${JSON.stringify(name)});
const prompt = await load(JSON.stringify(manifest));
await client.close();
`;

/** Parses tags that are separated by commas or spaces. Removes duplicates. */
export const parseTags = (text: string): readonly string[] => [
  ...new Set(text.split(/[\s,]+/).filter((tag) => tag !== "")),
];

/**
 * Returns the name of a prompt in an experiment: `repo` or `owner/repo`, followed by the commit unless it is the latest
 * commit.
 */
export const toExperimentPrompt = (
  { owner, repo }: { readonly owner: string; readonly repo: string },
  commit: string | undefined,
): string =>
  `${owner === "-" ? "" : `${owner}/`}${repo}${commit === undefined || commit === "latest" ? "" : `:${commit}`}`;

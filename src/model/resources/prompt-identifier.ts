import { ValidationError } from "../errors.ts";

/** Most characters of a handle, and of the name of a commit's tag. */
export const handleLimit = 100;

/** The owner that stands for the caller's own tenant. */
export const ownOwner = "-";

/** Where a prompt is: the handle of its owner, `-` for one's own, and its own handle. */
export interface PromptPath {
  readonly owner: string;
  readonly repo: string;
}

/** A prompt, or one commit of it. */
export interface PromptReference extends PromptPath {
  /** A commit's hash, its first characters, or a tag. Absent: the latest. */
  readonly commit?: string | undefined;
}

// Handles stand in paths and in addresses of pages. Servers take lower case only for new ones; what
// they already hold is theirs to judge.
const handlePattern = /^[A-Za-z0-9][A-Za-z0-9_-]*$/;
const commitPattern = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
const handleRule = "letters, digits, - and _, and begins with a letter or digit";
const commitRule = "letters, digits, ., - and _, and begins with a letter or digit";

/**
 * Reads `repo`, `owner/repo`, `-/repo`, each with or without `:` and a commit: a hash, the beginning
 * of one, a tag, or `latest`.
 *
 * @throws {@link ValidationError} it has none of these forms; the message points to the part.
 */
export function parsePromptReference(identifier: unknown): PromptReference {
  if (typeof identifier !== "string" || identifier === "") {
    throw invalid(identifier, 'expected "repo", "owner/repo" or "owner/repo:commit"');
  }
  const [path = "", commit, ...moreCommits] = identifier.split(":");
  if (moreCommits.length > 0) {
    throw invalid(identifier, 'there is more than one ":"');
  }
  const names = path.split("/");
  if (names.length > 2) {
    throw invalid(identifier, 'there is more than one "/"');
  }
  const [repo = "", owner = ownOwner] = names.toReversed();
  if (owner !== ownOwner) {
    assertPart(identifier, owner, handleParts.owner);
  }
  assertPart(identifier, repo, handleParts.repo);
  if (commit === undefined) {
    return { owner, repo };
  }
  assertPart(identifier, commit, { what: "commit", pattern: commitPattern, rule: commitRule });
  return commit === "latest" ? { owner, repo } : { owner, repo, commit };
}

/**
 * As {@link parsePromptReference}, for calls that are about the prompt as a whole.
 *
 * @throws {@link ValidationError} it also names a commit.
 */
export function parsePromptPath(identifier: unknown): PromptPath {
  const { owner, repo } = parsePromptReference(identifier);
  if (String(identifier).includes(":")) {
    throw invalid(identifier, "this call is about the prompt as a whole, and takes no commit");
  }
  return { owner, repo };
}

/** @throws {@link ValidationError} it can't be a handle. */
export function assertHandle(handle: unknown): asserts handle is string {
  if (typeof handle !== "string" || handle.length > handleLimit || !handlePattern.test(handle)) {
    throw new ValidationError(
      `A handle holds ${handleRule}, and is at most ${handleLimit} characters long: ${shown(handle)}`,
    );
  }
}

/** Whether a text can be the name of a commit's tag. */
export const isPromptTag = (tag: unknown): tag is string =>
  typeof tag === "string" &&
  tag.length <= handleLimit &&
  commitPattern.test(tag) &&
  tag !== "latest";

/** @throws {@link ValidationError} it can't be the name of a commit's tag. */
export function assertPromptTag(tag: unknown): asserts tag is string {
  if (!isPromptTag(tag)) {
    throw new ValidationError(
      `A tag of a commit holds ${commitRule}, is at most ${handleLimit} characters long, and is not "latest": ${shown(tag)}`,
    );
  }
}

/** Whether a commit may be named by its hash, or the beginning of one. */
export const isCommitHash = (commit: string): boolean => /^[0-9a-f]{4,64}$/.test(commit);

/** The shortest beginning of a hash that pages and people use. */
const shortHashLength = 7;

/** Whether a name is so much like a hash that no tag may have it; `2024` and `beef` may be tags. */
export const looksLikeHash = (name: string): boolean =>
  name.length >= shortHashLength && isCommitHash(name);

interface Part {
  readonly what: string;
  readonly pattern: RegExp;
  readonly rule: string;
}

const handleParts = {
  owner: { what: "owner", pattern: handlePattern, rule: handleRule },
  repo: { what: "repo", pattern: handlePattern, rule: handleRule },
} as const;

function assertPart(identifier: unknown, text: string, { what, pattern, rule }: Part): void {
  if (text === "") {
    throw invalid(identifier, `the ${what} is empty`);
  }
  if (text.length > handleLimit) {
    throw invalid(identifier, `the ${what} is longer than ${handleLimit} characters`);
  }
  if (!pattern.test(text)) {
    throw invalid(identifier, `the ${what} ${shown(text)} is not one: it holds ${rule}`);
  }
}

const invalid = (identifier: unknown, reason: string): ValidationError =>
  new ValidationError(`Invalid prompt identifier ${shown(identifier)}: ${reason}`);

/** As JSON, so that no line break or control character gets into a log. */
const shown = (value: unknown): string =>
  typeof value === "string" ? JSON.stringify(value.slice(0, 64)) : `of type ${typeof value}`;

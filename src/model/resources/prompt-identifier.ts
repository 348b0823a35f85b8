import { ValidationError } from "../errors.ts";

/** Maximum length of a handle (the name of an owner or a prompt) and of a commit's tag, in characters. */
export const handleLimit = 100;

/** The owner `-` means the caller's own tenant. */
export const ownOwner = "-";

/**
 * Identifies a prompt: the handle of its owner, `-` for the caller's own tenant, and the handle of
 * the prompt.
 */
export interface PromptPath {
  readonly owner: string;
  readonly repo: string;
}

/** A prompt, or one commit of it. */
export interface PromptReference extends PromptPath {
  /**
   * A commit's hash, its first characters, or a tag.
   * @defaultValue the latest commit
   */
  readonly commit?: string | undefined;
}

// Handles are used in paths and in URLs of pages. Existing handles may contain upper case and begin with a digit, but
// servers accept neither for a new prompt.
const handlePattern = /^[A-Za-z0-9][A-Za-z0-9_-]*$/;
const newHandlePattern = /^[a-z][a-z0-9_-]*$/;
const commitPattern = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
const handleDescription = "letters, digits, - and _, beginning with a letter or digit";
const commitDescription = "letters, digits, ., - and _, beginning with a letter or digit";

/**
 * Parses `repo`, `owner/repo` or `-/repo`, each optionally followed by `:` and a commit: a hash,
 * its first characters, a tag, or `latest`.
 *
 * @throws {@link ValidationError} if it has none of these forms; the message says which part is
 * invalid.
 */
export function parsePromptReference(identifier: unknown): PromptReference {
  if (typeof identifier !== "string" || identifier === "") {
    throw createIdentifierError(identifier, 'expected "repo", "owner/repo" or "owner/repo:commit"');
  }
  const [path = "", commit, ...moreCommits] = identifier.split(":");
  if (moreCommits.length > 0) {
    throw createIdentifierError(identifier, 'there is more than one ":"');
  }
  const names = path.split("/");
  if (names.length > 2) {
    throw createIdentifierError(identifier, 'there is more than one "/"');
  }
  const [repo = "", owner = ownOwner] = names.toReversed();
  if (owner !== ownOwner) {
    assertPart(identifier, owner, handleParts.owner);
  }
  assertPart(identifier, repo, handleParts.repo);
  if (commit === undefined) {
    return { owner, repo };
  }
  assertPart(identifier, commit, {
    label: "commit",
    pattern: commitPattern,
    rule: commitDescription,
  });
  return commit === "latest" ? { owner, repo } : { owner, repo, commit };
}

/**
 * Parses the identifier of a prompt without a commit: `repo`, `owner/repo` or `-/repo`.
 *
 * @throws {@link ValidationError} if the identifier is invalid or names a commit.
 */
export function parsePromptPath(identifier: unknown): PromptPath {
  const { owner, repo } = parsePromptReference(identifier);
  if (String(identifier).includes(":")) {
    throw createIdentifierError(
      identifier,
      "this call concerns the prompt as a whole and takes no commit",
    );
  }
  return { owner, repo };
}

/** Whether servers accept `handle` as the handle of a new prompt. */
export const isNewHandle = (handle: string): boolean =>
  handle.length <= handleLimit && newHandlePattern.test(handle);

/** @throws {@link ValidationError} if the prompt that `identifier` names can't be created under its handle. */
export function assertNewHandle(identifier: string, repo: string): void {
  if (!isNewHandle(repo)) {
    throw createIdentifierError(
      identifier,
      `the repo ${formatValue(repo)} can't be the handle of a new prompt, which must consist of lower case letters, digits, - and _, beginning with a letter`,
    );
  }
}

/** @throws {@link ValidationError} if `handle` is not a valid handle. */
export function assertHandle(handle: unknown): asserts handle is string {
  if (typeof handle !== "string" || handle.length > handleLimit || !handlePattern.test(handle)) {
    throw new ValidationError(
      `A handle consists of ${handleDescription}, and is at most ${handleLimit} characters long: ${formatValue(handle)}`,
    );
  }
}

/** Whether a value is a valid name for a commit's tag. */
export const isPromptTag = (tag: unknown): tag is string =>
  typeof tag === "string" &&
  tag.length <= handleLimit &&
  commitPattern.test(tag) &&
  tag !== "latest";

/** @throws {@link ValidationError} if `tag` is not a valid name for a commit's tag. */
export function assertPromptTag(tag: unknown): asserts tag is string {
  if (!isPromptTag(tag)) {
    throw new ValidationError(
      `A tag of a commit consists of ${commitDescription}, is at most ${handleLimit} characters long, and is not "latest": ${formatValue(tag)}`,
    );
  }
}

/**
 * Checks a new tag. Unlike an existing tag, it must not look like a hash: a server would refuse it, or it could not be
 * distinguished from a commit.
 *
 * @throws {@link ValidationError} if it is not a valid name, or looks like a hash.
 */
export function assertNewPromptTag(tag: unknown): asserts tag is string {
  assertPromptTag(tag);
  if (looksLikeHash(tag)) {
    throw new ValidationError(
      `The tag ${formatValue(tag)} looks like the hash of a commit: it must not consist of seven or more hexadecimal digits (0-9, a-f) only. Add another character, as in ${formatValue(`v${tag}`)}`,
    );
  }
}

/** Whether a text can be a commit's hash or the first characters of such a hash. */
export const isCommitHash = (commit: string): boolean => /^[0-9a-f]{4,64}$/.test(commit);

/** Minimum length of an abbreviated hash. A shorter name of hexadecimal digits may be a tag. */
const shortHashLength = 7;

/**
 * Whether a name looks so much like a hash that it is not allowed as a tag. Short names such as
 * `2024` and `beef` are allowed.
 */
export const looksLikeHash = (name: string): boolean =>
  name.length >= shortHashLength && isCommitHash(name);

/** The rule for one part of an identifier: its name, its pattern, and a description of the pattern. */
interface PartRule {
  readonly label: string;
  readonly pattern: RegExp;
  readonly rule: string;
}

const handleParts = {
  owner: { label: "owner", pattern: handlePattern, rule: handleDescription },
  repo: { label: "repo", pattern: handlePattern, rule: handleDescription },
} as const;

function assertPart(identifier: unknown, text: string, { label, pattern, rule }: PartRule): void {
  if (text === "") {
    throw createIdentifierError(identifier, `the ${label} is empty`);
  }
  if (text.length > handleLimit) {
    throw createIdentifierError(
      identifier,
      `the ${label} is longer than ${handleLimit} characters`,
    );
  }
  if (!pattern.test(text)) {
    throw createIdentifierError(
      identifier,
      `the ${label} ${formatValue(text)} is invalid: it must consist of ${rule}`,
    );
  }
}

const createIdentifierError = (identifier: unknown, reason: string): ValidationError =>
  new ValidationError(`Invalid prompt identifier ${formatValue(identifier)}: ${reason}`);

/**
 * Describes a value for an error message: the beginning of a text as JSON, so that no line break or control character
 * gets into a log, and the type of any other value.
 */
const formatValue = (value: unknown): string =>
  typeof value === "string" ? JSON.stringify(value.slice(0, 64)) : `of type ${typeof value}`;

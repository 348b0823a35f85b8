import { ConflictError } from "millrace";
import { handleLimit, isPromptTag, looksLikeHash } from "millrace/model";
import type { KeyValues } from "millrace/model";
import { omitUndefined } from "../../omit-undefined.ts";
import { createStableId } from "./stable-id.ts";
import type { ImportTarget } from "./import-target.ts";

/** A prompt to import from another server. */
export interface SourcePrompt {
  /** The product that the prompt comes from. It becomes part of the descriptions of the commits. */
  readonly product: string;
  readonly handle: string;
  readonly description?: string | undefined;
  readonly readme?: string | undefined;
  readonly tags: readonly string[];
  readonly isArchived: boolean;
  /** The versions, oldest first. */
  readonly versions: readonly SourceVersion[];
}

/** A version of a prompt, which becomes a commit. */
export interface SourceVersion {
  /** Hash of the commit, or number of the version. */
  readonly id: string;
  /** When the version was created; absent if the server does not report it. */
  readonly createdAt?: string | undefined;
  readonly read: () => Promise<VersionContent | LeftOutVersion>;
}

export interface VersionContent {
  readonly manifest: KeyValues;
  readonly description?: string | undefined;
  /** When the version was created, if the list of versions does not contain it. */
  readonly createdAt?: string | undefined;
  /** The tags that point to this version. */
  readonly tags: readonly string[];
}

/** A version that can't be imported, with the reason. */
export interface LeftOutVersion {
  readonly leftOut: string;
}

/**
 * Creates a prompt with its versions as commits, in their order. The description of each commit ends with a mark that
 * contains the id and the time of the version, because the hash and the time of a commit can't be set. Later imports
 * use these marks to recognize the versions that were already imported.
 */
export async function addPrompt(target: ImportTarget, prompt: SourcePrompt): Promise<void> {
  const { client, signal, tally, isDryRun } = target;
  const { handle, versions, product, isArchived, description, readme, tags } = prompt;
  if (isDryRun) {
    tally.add("prompts", "imported");
    tally.add("commits", "imported", versions.length);
    return;
  }
  const isNew = await createIfMissing(target, prompt);
  const { hashes, hasOthers } = await readImportedCommits(target, prompt);
  const missing = versions.filter(({ id }) => !hashes.has(id));
  if (hasOthers && missing.length > 0) {
    tally.leaveOut(
      "prompts",
      "the server has a prompt of this name with other commits: delete it, then import again",
      handle,
    );
    return;
  }
  tally.add("prompts", isNew ? "imported" : "existing");
  tally.add("commits", "existing", versions.length - missing.length);
  // Existing tags are not changed, because a user may have moved them since the first import.
  const existingTags = (await client.prompts.listTags(handle, { signal })).map(({ name }) => name);
  for (const version of versions) {
    signal.throwIfAborted();
    const content = await version.read();
    if ("leftOut" in content) {
      tally.leaveOut("commits", content.leftOut, `${handle}, version ${version.id}`);
      continue;
    }
    const hash =
      hashes.get(version.id) ?? (await commit(target, { handle, product, version, content }));
    const newTags = content.tags.filter((tag) => !existingTags.includes(tag));
    await addTags(target, { handle, hash, tags: newTags });
  }
  if (isNew && isArchived) {
    await client.prompts.update(handle, { description, readme, tags, isArchived, signal });
  }
}

/** Creates the prompt. Returns whether it is new. */
async function createIfMissing(
  { client, signal }: ImportTarget,
  { handle, description, readme, tags }: SourcePrompt,
): Promise<boolean> {
  try {
    await client.prompts.create(handle, { description, readme, tags, signal });
    return true;
  } catch (error) {
    if (error instanceof ConflictError) {
      return false;
    }
    throw error;
  }
}

/**
 * Reads the commits that imports from the same product created: their hashes by the id of the version. `hasOthers` says
 * whether there are other commits, too.
 */
async function readImportedCommits(
  { client, signal }: ImportTarget,
  { handle, product }: SourcePrompt,
): Promise<{ readonly hashes: Map<string, string>; readonly hasOthers: boolean }> {
  const hashes = new Map<string, string>();
  let hasOthers = false;
  for await (const { commitHash, description } of client.prompts.listCommits(handle, { signal })) {
    const id = readMark(description, product);
    if (id === undefined) {
      hasOthers = true;
    } else {
      hashes.set(id, commitHash);
    }
  }
  return { hashes, hasOthers };
}

async function commit(
  { client, signal, tally }: ImportTarget,
  {
    handle,
    product,
    version,
    content,
  }: {
    readonly handle: string;
    readonly product: string;
    readonly version: SourceVersion;
    readonly content: VersionContent;
  },
): Promise<string | undefined> {
  const { manifest, description } = content;
  try {
    const { commitHash } = await client.prompts.commit(handle, {
      manifest,
      description: [
        description,
        createMark(product, { createdAt: content.createdAt, ...omitUndefined(version) }),
      ]
        .filter((text) => text !== undefined)
        .join(" "),
      signal,
    });
    tally.add("commits", "imported");
    return commitHash;
  } catch (error) {
    if (!(error instanceof ConflictError)) {
      throw error;
    }
    tally.leaveOut(
      "commits",
      "its manifest is the same as that of the previous commit",
      `${handle}, version ${version.id}`,
    );
    return undefined;
  }
}

async function addTags(
  { client, signal, tally }: ImportTarget,
  {
    handle,
    hash,
    tags,
  }: {
    readonly handle: string;
    readonly hash: string | undefined;
    readonly tags: readonly string[];
  },
): Promise<void> {
  for (const tag of tags) {
    if (tag === "latest") {
      // On every server, this tag always refers to the newest commit.
      continue;
    }
    if (!isPromptTag(tag) || looksLikeHash(tag)) {
      tally.leaveOut(
        "commits",
        "its tag has characters that tags can't have, or looks like a hash; the commit itself is imported",
        `${handle}:${tag}`,
      );
      continue;
    }
    await client.prompts.tag(hash === undefined ? handle : `${handle}:${hash}`, { tag, signal });
  }
}

const createMark = (
  product: string,
  { id, createdAt }: Pick<SourceVersion, "id" | "createdAt">,
): string => `[${product} ${id}${createdAt === undefined ? "" : `, ${createdAt}`}]`;

/** Returns the id of the version in the mark at the end of a commit's description. */
function readMark(description: string | undefined, product: string): string | undefined {
  const mark = /\[(?<product>\S+) (?<id>[^\s,\]]+)(?:, [^\]]*)?\]$/.exec(description ?? "")?.groups;
  return mark?.["product"] === product ? mark["id"] : undefined;
}

/**
 * Chooses a handle for each name. A name that is not a valid handle, such as `Folder/My prompt`, is converted to one,
 * such as `folder-my-prompt`. If another name has the same handle, a suffix is added.
 */
export function chooseHandles(names: readonly string[]): ReadonlyMap<string, string> {
  const counts = new Map<string, number>();
  for (const name of names) {
    const handle = toHandle(name);
    counts.set(handle, (counts.get(handle) ?? 0) + 1);
  }
  return new Map(
    names.map((name) => {
      const handle = toHandle(name);
      const isAmbiguous = (counts.get(handle) ?? 0) > 1 && handle !== name;
      const suffix = createStableId(name).slice(0, 8);
      return [name, isAmbiguous ? `${handle.slice(0, handleLimit - 9)}-${suffix}` : handle];
    }),
  );
}

function toHandle(name: string): string {
  const handle = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]+/g, "-")
    .replaceAll(/^-+|-+$/g, "");
  return (/^[a-z]/.test(handle) ? handle : `prompt-${handle}`).slice(0, handleLimit);
}

import { createHash, randomUUID } from "node:crypto";
import { constants } from "node:fs";
import type { Stats } from "node:fs";
import { lstat, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { PulledPrompt } from "../../model/resources/prompt.ts";

/** A prompt with the time when the server sent it, in milliseconds since the Unix epoch. */
export interface StoredPrompt {
  readonly prompt: PulledPrompt;
  readonly fetchedAt: number;
}

/** Options of {@link PromptSnapshots}. */
export interface SnapshotOptions {
  readonly folder: string;
  /** Identifies the server and the workspace. Snapshots of other origins in the same folder are not read. */
  readonly origin: string;
  readonly maxFiles: number;
  /** Maximum total size of the files. */
  readonly maxBytes: number;
  readonly warn: (message: string) => void;
}

/** Version of the file format. A file of another version is not used. */
const format = 1;
const [fileMode, folderMode] = [0o600, 0o700];
const [groupWriteBit, otherUsersWriteBit] = [0o020, 0o002];
const filePattern = /^[0-9a-f]{64}\.json$/;
const temporaryPattern = /^[0-9a-f]{64}\.json\.[0-9a-f-]+\.tmp$/;
/**
 * Age in milliseconds from which a temporary file is removed. By then, the process that created the file must have
 * ended without finishing it.
 */
const temporaryFileMs = 3_600_000;

/**
 * Prompts on disk, one file for each identifier. Several processes may share a folder: a file is replaced as a whole,
 * so a process never reads a partly written file. Failures are logged as warnings, because a snapshot is only a
 * substitute.
 */
export class PromptSnapshots {
  readonly #options: SnapshotOptions;

  constructor(options: SnapshotOptions) {
    this.#options = options;
  }

  /**
   * Reads a snapshot. Returns `undefined` if there is none. A file that was changed or truncated, or that another user
   * could have written, is reported and ignored.
   */
  async read(key: string): Promise<StoredPrompt | undefined> {
    const path = this.#pathOf(key);
    try {
      return parseSnapshot(await this.#readText(path), this.#identify(key));
    } catch (error) {
      if (hasCode(error, "ENOENT")) {
        return undefined;
      }
      this.#warn("read", path, error);
      return undefined;
    }
  }

  /** Writes a snapshot, and removes the oldest files if there are too many. */
  async write(key: string, stored: StoredPrompt): Promise<void> {
    const { folder } = this.#options;
    const path = this.#pathOf(key);
    const temporaryPath = `${path}.${randomUUID()}.tmp`;
    try {
      await this.#prepareFolder();
      const text = formatSnapshot(stored, this.#identify(key));
      if (Buffer.byteLength(text) > this.#options.maxBytes) {
        throw new Error("it is larger than the option maxPromptCacheBytes");
      }
      try {
        const file = await open(temporaryPath, "wx", fileMode);
        try {
          await file.writeFile(text);
          await file.sync();
        } finally {
          await file.close();
        }
        await rename(temporaryPath, path);
      } catch (error) {
        await rm(temporaryPath, { force: true });
        throw error;
      }
      await this.#removeOldest(folder);
    } catch (error) {
      this.#warn("write", path, error);
    }
  }

  async remove(key: string): Promise<void> {
    const path = this.#pathOf(key);
    try {
      await rm(path, { force: true });
    } catch (error) {
      this.#warn("remove", path, error);
    }
  }

  #identify(key: string): string {
    return `${this.#options.origin} ${key}`;
  }

  #pathOf(key: string): string {
    return join(this.#options.folder, `${digest(this.#identify(key))}.json`);
  }

  /** Creates the folder if it does not exist. @throws an error if another user could write to it. */
  async #prepareFolder(): Promise<void> {
    const { folder } = this.#options;
    await mkdir(folder, { recursive: true, mode: folderMode });
    const problem = findOwnerProblem(await stat(folder));
    if (problem !== undefined) {
      throw new Error(`the folder ${problem}; set promptSnapshotDir to a folder of your own`);
    }
  }

  async #readText(path: string): Promise<string> {
    // Links are not followed, because a link could refer to another file of this user.
    const file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
    try {
      const stats = await file.stat();
      const problem = stats.isFile() ? findOwnerProblem(stats) : "is not a file";
      if (problem !== undefined) {
        throw new Error(`it ${problem}`);
      }
      if (stats.size > this.#options.maxBytes) {
        throw new Error("it is larger than the option maxPromptCacheBytes");
      }
      return await file.readFile("utf8");
    } finally {
      await file.close();
    }
  }

  /** Removes the oldest snapshots until the folder is within its limits. Other files are left alone. */
  async #removeOldest(folder: string): Promise<void> {
    const { maxFiles, maxBytes } = this.#options;
    const names = await readdir(folder);
    const snapshots = await statAll(folder, names, filePattern);
    let bytes = snapshots.reduce((sum, { stats }) => sum + stats.size, 0);
    let files = snapshots.length;
    const oldestFirst = snapshots.toSorted(
      (left, right) => left.stats.mtimeMs - right.stats.mtimeMs,
    );
    for (const { path, stats } of oldestFirst) {
      if (files <= maxFiles && bytes <= maxBytes) {
        break;
      }
      await rm(path, { force: true });
      files -= 1;
      bytes -= stats.size;
    }
    for (const { path, stats } of await statAll(folder, names, temporaryPattern)) {
      if (Date.now() - stats.mtimeMs > temporaryFileMs) {
        await rm(path, { force: true });
      }
    }
  }

  #warn(action: string, path: string, error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    this.#options.warn(`Failed to ${action} the prompt snapshot ${path}: ${reason}`);
  }
}

/** Returns the content of a snapshot file. `identity` consists of the server, the workspace and the prompt's key. */
const formatSnapshot = ({ prompt, fetchedAt }: StoredPrompt, identity: string): string => {
  const sha256 = digest(JSON.stringify([identity, fetchedAt, prompt]));
  return `${JSON.stringify({ format, identity, fetchedAt, sha256, prompt })}\n`;
};

/** @throws an error if the text is not a complete, unchanged snapshot of this prompt. */
function parseSnapshot(text: string, identity: string): StoredPrompt {
  let snapshot: unknown;
  try {
    snapshot = JSON.parse(text);
  } catch {
    throw new Error(damagedText);
  }
  const fields = new Map(Object.entries(Object(snapshot) as object)) as Map<string, unknown>;
  const [prompt, fetchedAt] = [fields.get("prompt"), fields.get("fetchedAt")];
  const isIntact =
    fields.get("format") === format &&
    fields.get("identity") === identity &&
    typeof fetchedAt === "number" &&
    fields.get("sha256") === digest(JSON.stringify([identity, fetchedAt, prompt]));
  if (!isIntact) {
    throw new Error(damagedText);
  }
  return { prompt: prompt as PulledPrompt, fetchedAt };
}

const damagedText =
  "its content was changed or truncated, so it is not used; it is replaced when the server responds";

const digest = (text: string): string => createHash("sha256").update(text).digest("hex");

interface FoundFile {
  readonly path: string;
  readonly stats: Stats;
}

/** Reads the properties of the files whose names match. Files that another process removes meanwhile are left out. */
async function statAll(
  folder: string,
  names: readonly string[],
  pattern: RegExp,
): Promise<readonly FoundFile[]> {
  const files: FoundFile[] = [];
  for (const name of names.filter((candidate) => pattern.test(candidate))) {
    const path = join(folder, name);
    try {
      files.push({ path, stats: await lstat(path) });
    } catch (error) {
      if (!hasCode(error, "ENOENT")) {
        throw error;
      }
    }
  }
  return files;
}

/**
 * Returns why another user may have written a file or folder; `undefined` if it belongs to this user and nobody else
 * can write to it.
 */
function findOwnerProblem({ uid, mode }: Stats): string | undefined {
  // On Windows, files have no numeric owner. By default, other users can't write to a user's folders there.
  if (process.getuid === undefined) {
    return undefined;
  }
  if (uid !== process.getuid()) {
    return `belongs to another user (uid ${uid})`;
  }
  return (mode & (groupWriteBit | otherUsersWriteBit)) === 0
    ? undefined
    : "is writable by other users (chmod go-w)";
}

const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && "code" in error && error.code === code;

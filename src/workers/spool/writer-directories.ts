import {
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  utimes,
} from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { isOwnFile, isOwnFolder, folderMode, openFolder, UnsafeFolder } from "./spool-folder.ts";
import { readSegment, parseSalt } from "./spool-format.ts";
import {
  toFreeDirectoryName,
  heartbeatMs,
  isAbandoned,
  isWriterDirectory,
  parseCreatedMs,
  createOwnDirectoryName,
} from "./writer-directory.ts";
import type { SpoolOptions } from "./spool-options.ts";
import type { Segment, SpoolFileSystem } from "./spool-segment.ts";

/**
 * The writer directories that this client owns: the one that it writes to, and the ones that it took over. A writer
 * directory is a folder of one owner inside the spool's folder.
 */
export class WriterDirectories {
  readonly #folder: string;
  readonly #fileSystem: SpoolFileSystem;
  readonly #onFault: SpoolOptions["onFault"];
  /** Paths of the directories that this client owns. */
  readonly #ownedPaths = new Set<string>();
  #writtenPath: string | undefined;
  #isReleased = false;
  #unsyncedDirectory: string | undefined;
  #heartbeat: NodeJS.Timeout | undefined;

  constructor(
    folder: string,
    {
      fileSystem,
      onFault,
    }: Pick<SpoolOptions, "onFault"> & { readonly fileSystem: SpoolFileSystem },
  ) {
    this.#folder = folder;
    this.#fileSystem = fileSystem;
    this.#onFault = onFault;
  }

  /**
   * Takes over the directories without an owner and returns their segments, in order of age. Never
   * throws.
   */
  async claim(): Promise<readonly Segment[]> {
    const segments: Segment[] = [];
    for (const name of await this.#listDirectoryNames()) {
      const path = join(this.#folder, name);
      const claimedPath = join(this.#folder, createOwnDirectoryName(parseCreatedMs(name)));
      try {
        // Do not await anything between this check and the rename: a client that closes in between must not take over a
        // directory.
        if (this.#isReleased || !isAbandoned(path, name)) {
          continue;
        }
        if (!isOwnFolder(path)) {
          this.#onFault("spoolRefused", `${path} does not belong to this user and is ignored`);
          continue;
        }
        renameSync(path, claimedPath);
      } catch {
        // Another process was faster and sends the segments.
        continue;
      }
      this.#addOwned(claimedPath);
      segments.push(...(await this.#listSegments(claimedPath)));
    }
    return segments;
  }

  /** Calls `work` with the directory to write to, which is created if it is missing. */
  withOwnDirectory<T>(work: (directory: string) => T): T {
    try {
      return work(this.#getOwnDirectory());
    } catch (error) {
      if (!isFileNotFoundError(error)) {
        throw error;
      }
      // The directory was deleted while this process was running.
      this.#writtenPath = undefined;
      return work(this.#getOwnDirectory());
    }
  }

  /** Deletes a segment of an earlier process. */
  deleteSegment({ folder, name }: Segment): void {
    rmSync(join(folder, name), { force: true });
  }

  /** Counts the records of a segment of an earlier process; 0 if it can't be read. */
  countRecords({ folder, name }: Segment): number {
    let recordCount = 0;
    try {
      for (const part of readSegment(readFileSync(join(folder, name)), parseSalt(name) ?? 0)) {
        recordCount += part.is === "frame" ? part.records : 0;
      }
    } catch (error) {
      this.#report(error);
    }
    return recordCount;
  }

  /**
   * Flushes the directory to disk, without blocking. Without this flush, a new file could be missing after a power cut.
   * A directory that can't be opened is not an error: either it was deleted, in which case its files were reported as
   * lost, or its files are still there.
   */
  flush(onError: (error: unknown) => void): void {
    const fileDescriptor = this.#openUnsyncedDirectory();
    if (fileDescriptor === undefined) {
      return;
    }
    this.#fileSystem.fsync(fileDescriptor, (error) => {
      closeSync(fileDescriptor);
      if (error !== null) {
        onError(error);
      }
    });
  }

  /** Does the same as {@link flush}, and blocks until the disk is done. */
  flushNow(onError: (error: unknown) => void): void {
    const fileDescriptor = this.#openUnsyncedDirectory();
    if (fileDescriptor === undefined) {
      return;
    }
    try {
      this.#fileSystem.fsyncSync(fileDescriptor);
    } catch (error) {
      onError(error);
    } finally {
      closeSync(fileDescriptor);
    }
  }

  /** Opens the directory to which a file was added since the last call; `undefined` if there is none. */
  #openUnsyncedDirectory(): number | undefined {
    const directory = this.#unsyncedDirectory;
    this.#unsyncedDirectory = undefined;
    try {
      return directory === undefined ? undefined : openSync(directory, "r");
    } catch {
      return undefined;
    }
  }

  /** Releases the directories: empty ones are removed, and the next client takes over the others. Never throws. */
  release(): void {
    this.#isReleased = true;
    clearInterval(this.#heartbeat);
    for (const path of this.#ownedPaths) {
      try {
        rmdirSync(path);
      } catch {
        this.#markFree(path);
      }
    }
    this.#ownedPaths.clear();
    this.#writtenPath = undefined;
  }

  #markFree(path: string): void {
    try {
      renameSync(
        path,
        join(this.#folder, toFreeDirectoryName(path.slice(this.#folder.length + 1))),
      );
    } catch {
      // Either the directory was deleted, or it keeps the name that marks it as owned by this process. In the second
      // case another process takes it over after this process has ended.
    }
  }

  #getOwnDirectory(): string {
    if (this.#writtenPath === undefined) {
      const path = join(this.#folder, createOwnDirectoryName());
      openFolder(this.#folder);
      mkdirSync(path, { mode: folderMode });
      this.#writtenPath = path;
      this.#addOwned(path);
    }
    this.#unsyncedDirectory = this.#writtenPath;
    return this.#writtenPath;
  }

  #addOwned(path: string): void {
    this.#ownedPaths.add(path);
    this.#heartbeat ??= setInterval(() => this.#renewHeartbeats(), heartbeatMs);
    // The timer is unref'd, so that it doesn't keep the process alive when nothing else is left to do.
    this.#heartbeat.unref();
  }

  #renewHeartbeats(): void {
    const now = new Date();
    for (const path of this.#ownedPaths) {
      // Errors are ignored: a deleted directory needs no heartbeat, and if the time of an existing one can't be set,
      // the pid in its name still shows that its owner is running.
      utimes(path, now, now, () => undefined);
    }
  }

  async #listDirectoryNames(): Promise<readonly string[]> {
    try {
      openFolder(this.#folder);
      const names = (await readdir(this.#folder)).filter(isWriterDirectory);
      return names.toSorted();
    } catch (error) {
      this.#report(error);
      return [];
    }
  }

  async #listSegments(directory: string): Promise<readonly Segment[]> {
    const segments: Segment[] = [];
    try {
      const names = (await readdir(directory)).filter((name) => parseSalt(name) !== undefined);
      for (const name of names.toSorted()) {
        if (!isOwnFile(join(directory, name))) {
          this.#onFault(
            "spoolRefused",
            `${join(directory, name)} does not belong to this user and is ignored`,
          );
          continue;
        }
        const { size } = await stat(join(directory, name));
        segments.push({ folder: directory, name, sizeBytes: size, recordCount: 0 });
      }
    } catch (error) {
      this.#report(error);
    }
    return segments;
  }

  #report(error: unknown): void {
    const kind = error instanceof UnsafeFolder ? "spoolRefused" : "spoolUnreadable";
    this.#onFault(kind, error instanceof Error ? error.message : String(error));
  }
}

const isFileNotFoundError = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ENOENT";

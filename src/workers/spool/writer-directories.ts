import {
  closeSync,
  fsync,
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
import { readSegment, saltOf } from "./spool-format.ts";
import {
  toFreeDirectoryName,
  heartbeatMs,
  isAbandoned,
  isWriterDirectory,
  createdMsOf,
  createOwnDirectoryName,
} from "./writer-directory.ts";
import type { SpoolOptions } from "./spool-options.ts";
import type { Segment } from "./spool-segment.ts";

/**
 * The writer directories that this client owns: one that it writes to, and those that it took over.
 */
export class WriterDirectories {
  readonly #folder: string;
  readonly #onTrouble: SpoolOptions["onTrouble"];
  /** Paths of owned directories. */
  readonly #owned = new Set<string>();
  #ownPath: string | undefined;
  #isReleased = false;
  #unsyncedDirectory: string | undefined;
  #heartbeat: NodeJS.Timeout | undefined;

  constructor(folder: string, onTrouble: SpoolOptions["onTrouble"]) {
    this.#folder = folder;
    this.#onTrouble = onTrouble;
  }

  /**
   * Takes over the directories without an owner and returns their segments, in order of age. Never
   * throws.
   */
  async claim(): Promise<readonly Segment[]> {
    const segments: Segment[] = [];
    for (const name of await this.#directoryNames()) {
      const path = join(this.#folder, name);
      const claimed = join(this.#folder, createOwnDirectoryName(createdMsOf(name)));
      try {
        // No `await` between this check and the rename: a client that closes in between must not
        // take over anything.
        if (this.#isReleased || !isAbandoned(path, name)) {
          continue;
        }
        if (!isOwnFolder(path)) {
          this.#onTrouble("spoolRefused", `${path} does not belong to this user and is ignored`);
          continue;
        }
        renameSync(path, claimed);
      } catch {
        // Another process was faster and sends the segments.
        continue;
      }
      this.#addOwned(claimed);
      segments.push(...(await this.#segmentsOf(claimed)));
    }
    return segments;
  }

  /** Calls `work` with the directory to write to, which is created if it is missing. */
  withOwnDirectory<T>(work: (directory: string) => T): T {
    try {
      return work(this.#ownDirectory());
    } catch (error) {
      if (!isMissing(error)) {
        throw error;
      }
      // It was deleted while this process was running.
      this.#ownPath = undefined;
      return work(this.#ownDirectory());
    }
  }

  /** Deletes a segment of an earlier process. */
  remove({ folder, name }: Segment): void {
    rmSync(join(folder, name), { force: true });
  }

  /** Counts the records of a segment of an earlier process; 0 if it can't be read. */
  countRecords({ folder, name }: Segment): number {
    let records = 0;
    try {
      for (const part of readSegment(readFileSync(join(folder, name)), saltOf(name) ?? 0)) {
        records += part.is === "frame" ? part.records : 0;
      }
    } catch (error) {
      this.#report(error);
    }
    return records;
  }

  /** Flushes the directory to disk: only then is a new file still there after a power cut. */
  sync(onError: (error: Error) => void): void {
    const directory = this.#unsyncedDirectory;
    this.#unsyncedDirectory = undefined;
    if (directory === undefined) {
      return;
    }
    try {
      const fd = openSync(directory, "r");
      fsync(fd, (error) => {
        closeSync(fd);
        if (error !== null) {
          onError(error);
        }
      });
    } catch {
      // Either the directory was deleted, in which case its files were reported as lost, or it
      // can't be opened, in which case they are still there.
    }
  }

  /** Releases the directories: empty ones are removed, and the next client takes over the others. Never throws. */
  release(): void {
    this.#isReleased = true;
    clearInterval(this.#heartbeat);
    for (const path of this.#owned) {
      try {
        rmdirSync(path);
      } catch {
        this.#markFree(path);
      }
    }
    this.#owned.clear();
    this.#ownPath = undefined;
  }

  #markFree(path: string): void {
    try {
      renameSync(
        path,
        join(this.#folder, toFreeDirectoryName(path.slice(this.#folder.length + 1))),
      );
    } catch {
      // The directory was deleted, or it stays ours until this process has ended and is taken over
      // then.
    }
  }

  #ownDirectory(): string {
    if (this.#ownPath === undefined) {
      const path = join(this.#folder, createOwnDirectoryName());
      openFolder(this.#folder);
      mkdirSync(path, { mode: folderMode });
      this.#ownPath = path;
      this.#addOwned(path);
    }
    this.#unsyncedDirectory = this.#ownPath;
    return this.#ownPath;
  }

  #addOwned(path: string): void {
    this.#owned.add(path);
    this.#heartbeat ??= setInterval(() => this.#beat(), heartbeatMs);
    // Unref'd: a process that has ended owns nothing.
    this.#heartbeat.unref();
  }

  #beat(): void {
    const now = new Date();
    for (const path of this.#owned) {
      // A removed directory needs no heartbeat. If a directory can't be touched, the pid in its
      // name still shows that its owner runs.
      utimes(path, now, now, () => undefined);
    }
  }

  async #directoryNames(): Promise<readonly string[]> {
    try {
      openFolder(this.#folder);
      const names = (await readdir(this.#folder)).filter(isWriterDirectory);
      return names.toSorted();
    } catch (error) {
      this.#report(error);
      return [];
    }
  }

  async #segmentsOf(directory: string): Promise<readonly Segment[]> {
    const segments: Segment[] = [];
    try {
      const names = (await readdir(directory)).filter((name) => saltOf(name) !== undefined);
      for (const name of names.toSorted()) {
        if (!isOwnFile(join(directory, name))) {
          this.#onTrouble(
            "spoolRefused",
            `${join(directory, name)} does not belong to this user and is ignored`,
          );
          continue;
        }
        const { size } = await stat(join(directory, name));
        segments.push({ folder: directory, name, bytes: size, records: 0 });
      }
    } catch (error) {
      this.#report(error);
    }
    return segments;
  }

  #report(error: unknown): void {
    const kind = error instanceof UnsafeFolder ? "spoolRefused" : "spoolUnreadable";
    this.#onTrouble(kind, error instanceof Error ? error.message : String(error));
  }
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ENOENT";

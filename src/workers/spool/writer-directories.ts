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
  freeDirectoryName,
  heartbeatMs,
  isAbandoned,
  isWriterDirectory,
  createdMsOf,
  ownDirectoryName,
} from "./writer-directory.ts";
import type { SpoolOptions } from "./spool-options.ts";
import type { Segment } from "./spool-segment.ts";

/** The writer directories that this client owns: one to write to, and those it took over. */
export class WriterDirectories {
  readonly #folder: string;
  readonly #onTrouble: SpoolOptions["onTrouble"];
  /** Paths of owned directories. */
  readonly #owned = new Set<string>();
  #own: string | undefined;
  #isReleased = false;
  #unsynced: string | undefined;
  #heartbeat: NodeJS.Timeout | undefined;

  constructor(folder: string, onTrouble: SpoolOptions["onTrouble"]) {
    this.#folder = folder;
    this.#onTrouble = onTrouble;
  }

  /** Takes over the directories without an owner and returns their segments, the oldest first. Never throws. */
  async claim(): Promise<readonly Segment[]> {
    const segments: Segment[] = [];
    for (const name of await this.#directoryNames()) {
      const path = join(this.#folder, name);
      const claimed = join(this.#folder, ownDirectoryName(createdMsOf(name)));
      try {
        // At once: a client that closes in between takes nothing over.
        if (this.#isReleased || !isAbandoned(path, name)) {
          continue;
        }
        if (!isOwnFolder(path)) {
          this.#onTrouble("spoolRefused", `${path} is not this user's folder; it is left alone`);
          continue;
        }
        renameSync(path, claimed);
      } catch {
        // Another process was faster, and sends it.
        continue;
      }
      this.#addOwned(claimed);
      segments.push(...(await this.#segmentsOf(claimed)));
    }
    return segments;
  }

  /** Runs `work` with the directory to write to, which is created where it is missing. */
  inOwn<T>(work: (directory: string) => T): T {
    try {
      return work(this.#ownDirectory());
    } catch (error) {
      if (!isMissing(error)) {
        throw error;
      }
      // Removed while we ran.
      this.#own = undefined;
      return work(this.#ownDirectory());
    }
  }

  /** Removes a segment of an earlier process. */
  remove({ folder, name }: Segment): void {
    rmSync(join(folder, name), { force: true });
  }

  /** Records of a segment of an earlier process; 0 where it can't be read. */
  recordsOf({ folder, name }: Segment): number {
    let records = 0;
    try {
      for (const part of readSegment(readFileSync(join(folder, name)), saltOf(name) ?? 0)) {
        records += part.is === "frame" ? part.records : 0;
      }
    } catch (error) {
      this.#trouble(error);
    }
    return records;
  }

  /** A new file is found after a power cut only when its folder is on the disk. */
  sync(onError: (error: Error) => void): void {
    const directory = this.#unsynced;
    this.#unsynced = undefined;
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
      // It was removed, in which case its files were reported as lost, or it can't be opened, in which case they are still there.
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
        this.#setFree(path);
      }
    }
    this.#owned.clear();
    this.#own = undefined;
  }

  #setFree(path: string): void {
    try {
      renameSync(path, join(this.#folder, freeDirectoryName(path.slice(this.#folder.length + 1))));
    } catch {
      // It was removed; or it stays ours until this process is gone, and is taken over then.
    }
  }

  #ownDirectory(): string {
    if (this.#own === undefined) {
      const path = join(this.#folder, ownDirectoryName());
      openFolder(this.#folder);
      mkdirSync(path, { mode: folderMode });
      this.#own = path;
      this.#addOwned(path);
    }
    this.#unsynced = this.#own;
    return this.#own;
  }

  #addOwned(path: string): void {
    this.#owned.add(path);
    this.#heartbeat ??= setInterval(() => this.#beat(), heartbeatMs);
    // A process that ends owns nothing.
    this.#heartbeat.unref();
  }

  #beat(): void {
    const now = new Date();
    for (const path of this.#owned) {
      // A removed directory needs no heartbeat. Where one can't be touched, the pid in its name shows that its owner runs.
      utimes(path, now, now, () => undefined);
    }
  }

  async #directoryNames(): Promise<readonly string[]> {
    try {
      openFolder(this.#folder);
      const names = (await readdir(this.#folder)).filter(isWriterDirectory);
      return names.toSorted();
    } catch (error) {
      this.#trouble(error);
      return [];
    }
  }

  async #segmentsOf(directory: string): Promise<readonly Segment[]> {
    const segments: Segment[] = [];
    try {
      const names = (await readdir(directory)).filter((name) => saltOf(name) !== undefined);
      for (const name of names.toSorted()) {
        if (!isOwnFile(join(directory, name))) {
          this.#onTrouble("spoolRefused", `${join(directory, name)} is not this user's file`);
          continue;
        }
        const { size } = await stat(join(directory, name));
        segments.push({ folder: directory, name, bytes: size, records: 0 });
      }
    } catch (error) {
      this.#trouble(error);
    }
    return segments;
  }

  #trouble(error: unknown): void {
    const kind = error instanceof UnsafeFolder ? "spoolRefused" : "spoolUnreadable";
    this.#onTrouble(kind, error instanceof Error ? error.message : String(error));
  }
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ENOENT";

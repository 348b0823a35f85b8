import { mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Segment } from "./spool-segment.ts";

const folderMode = 0o700;

/** A folder of segments that are kept and not sent by themselves; beyond the quota the oldest go. */
export class Shelf {
  readonly folder: string;
  readonly #quotaBytes: number;

  constructor(folder: string, quotaBytes: number) {
    this.folder = folder;
    this.#quotaBytes = quotaBytes;
  }

  /** Moves a segment here. @throws the file system's error. */
  take({ folder, name }: Segment): void {
    this.make();
    renameSync(join(folder, name), join(this.folder, name));
    this.prune();
  }

  /** @throws the file system's error. */
  make(): void {
    mkdirSync(this.folder, { recursive: true, mode: folderMode });
  }

  /** Removes the oldest beyond the quota. @throws the file system's error. */
  prune(): void {
    const files = readdirSync(this.folder).flatMap((name) => {
      const path = join(this.folder, name);
      const stat = statSync(path, { throwIfNoEntry: false });
      return stat === undefined ? [] : [{ path, bytes: stat.size, changedMs: stat.mtimeMs }];
    });
    let bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    for (const file of files.toSorted((a, b) => a.changedMs - b.changedMs)) {
      if (bytes <= this.#quotaBytes) {
        return;
      }
      rmSync(file.path, { force: true });
      bytes -= file.bytes;
    }
  }
}

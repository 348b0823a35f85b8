import { mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { folderMode, isOwnFolder, openFolder, UnsafeFolder } from "./spool-folder.ts";
import type { Segment } from "./spool-segment.ts";

/**
 * A folder of segments that are kept but not sent automatically. If the segments exceed the quota, the oldest ones are
 * deleted.
 */
export class QuarantineFolder {
  readonly folder: string;
  readonly #spoolFolder: string;
  readonly #quotaBytes: number;

  constructor(spoolPath: string, name: string, quotaBytes: number) {
    this.#spoolFolder = spoolPath;
    this.folder = join(spoolPath, name);
    this.#quotaBytes = quotaBytes;
  }

  /**
   * Moves a segment into this folder.
   *
   * @throws the file system's error.
   */
  moveSegment({ folder, name }: Segment): void {
    this.create();
    renameSync(join(folder, name), join(this.folder, name));
    this.deleteOldest();
  }

  /**
   * Creates the folder.
   *
   * @throws UnsafeFolder if it or the spool's folder does not belong to this user.
   * @throws the file system's error.
   */
  create(): void {
    openFolder(this.#spoolFolder);
    mkdirSync(this.folder, { recursive: true, mode: folderMode });
    if (!isOwnFolder(this.folder)) {
      throw new UnsafeFolder(this.folder, "is a link, or belongs to another user");
    }
  }

  /**
   * Deletes the oldest segments beyond the quota.
   *
   * @throws the file system's error.
   */
  deleteOldest(): void {
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

import type { WriterDirectories } from "./writer-directories.ts";
import type { OpenSegment } from "./spool-segment.ts";

export interface GroupCommitOptions {
  /** Between two commits; 0 commits at each write, and blocks for it. */
  readonly intervalMs: number;
  readonly directories: WriterDirectories;
  /** Called where fsync fails: the disk may not hold what was written. */
  readonly onError: (error: unknown) => void;
}

/** Forces what was written onto the disk: once an interval, for all that was written in it. */
export class GroupCommit {
  readonly #options: GroupCommitOptions;
  readonly #dirty = new Set<OpenSegment>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: GroupCommitOptions) {
    this.#options = options;
  }

  /** Something was written to it. */
  add(segment: OpenSegment): void {
    const { intervalMs } = this.#options;
    if (intervalMs === 0) {
      this.#now(segment);
      return;
    }
    this.#dirty.add(segment);
    if (this.#timer === undefined) {
      this.#timer = setTimeout(() => this.#commit(), intervalMs);
      // A program that ends commits in `close`.
      this.#timer.unref();
    }
  }

  /** Commits all, now. Never throws. */
  close(): void {
    clearTimeout(this.#timer);
    for (const segment of this.#dirty) {
      this.#now(segment);
    }
    this.#dirty.clear();
  }

  #commit(): void {
    const { directories, onError } = this.#options;
    this.#timer = undefined;
    for (const segment of this.#dirty) {
      segment.sync(onError);
    }
    this.#dirty.clear();
    directories.sync(onError);
  }

  #now(segment: OpenSegment): void {
    try {
      segment.syncNow();
    } catch (error) {
      this.#options.onError(error);
    }
  }
}

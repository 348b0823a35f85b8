import type { WriterDirectories } from "./writer-directories.ts";
import type { OpenSegment } from "./spool-segment.ts";

export interface GroupCommitOptions {
  /**
   * Milliseconds between two commits. With 0 each write is committed immediately, and blocks until
   * the disk is done.
   */
  readonly intervalMs: number;
  readonly directories: WriterDirectories;
  /** Called if fsync fails. The disk may then not have what was written. */
  readonly onError: (error: unknown) => void;
}

/** Flushes written data to disk with fsync, once per interval for everything written in it. */
export class GroupCommit {
  readonly #options: GroupCommitOptions;
  readonly #dirty = new Set<OpenSegment>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: GroupCommitOptions) {
    this.#options = options;
  }

  /** Registers a segment that was written to. */
  add(segment: OpenSegment): void {
    const { intervalMs } = this.#options;
    if (intervalMs === 0) {
      this.#commitNow(segment);
      return;
    }
    this.#dirty.add(segment);
    if (this.#timer === undefined) {
      this.#timer = setTimeout(() => this.#commit(), intervalMs);
      // Unref'd, because a process that ends commits in `close`.
      this.#timer.unref();
    }
  }

  /** Commits everything immediately. Never throws. */
  close(): void {
    clearTimeout(this.#timer);
    for (const segment of this.#dirty) {
      this.#commitNow(segment);
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

  #commitNow(segment: OpenSegment): void {
    try {
      segment.syncNow();
    } catch (error) {
      this.#options.onError(error);
    }
  }
}

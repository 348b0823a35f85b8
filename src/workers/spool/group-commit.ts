import type { WriterDirectories } from "./writer-directories.ts";
import { NextTurn } from "../../model/next-turn.ts";
import type { OpenSegment } from "./spool-segment.ts";

/** Options of {@link GroupCommit}. */
export interface GroupCommitOptions {
  /**
   * Milliseconds between two commits. With 0 each write is committed immediately, and blocks until
   * the disk is done.
   */
  readonly intervalMs: number;
  readonly directories: WriterDirectories;
  /** Called if fsync fails. The written data may then be missing on the disk. */
  readonly onError: (error: unknown) => void;
}

/** Flushes written data to disk: one fsync per interval covers all writes of that interval. */
export class GroupCommit {
  readonly #options: GroupCommitOptions;
  readonly #unflushedSegments = new Set<OpenSegment>();
  /** Sets the timer in the next turn of the event loop, because the call that records a run must not start timers. */
  readonly #turn = new NextTurn(() => this.#setTimer());
  #timer: NodeJS.Timeout | undefined;

  constructor(options: GroupCommitOptions) {
    this.#options = options;
  }

  /** Registers a segment file that was written to, so that the next commit flushes it. */
  add(segment: OpenSegment): void {
    const { intervalMs, directories, onError } = this.#options;
    if (intervalMs === 0) {
      this.#commitNow(segment);
      directories.flushNow(onError);
      return;
    }
    this.#unflushedSegments.add(segment);
    if (this.#timer === undefined) {
      this.#turn.request();
    }
  }

  /** Flushes all written data immediately. Never throws. */
  close(): void {
    this.#turn.cancel();
    clearTimeout(this.#timer);
    for (const segment of this.#unflushedSegments) {
      this.#commitNow(segment);
    }
    this.#unflushedSegments.clear();
    this.#options.directories.flushNow(this.#options.onError);
  }

  #setTimer(): void {
    if (this.#timer === undefined) {
      this.#timer = setTimeout(() => this.#commit(), this.#options.intervalMs);
      // The timer does not keep the process alive: when the process ends, `close` commits what is left.
      this.#timer.unref();
    }
  }

  #commit(): void {
    const { directories, onError } = this.#options;
    this.#timer = undefined;
    for (const segment of this.#unflushedSegments) {
      if (segment.flush(onError)) {
        this.#unflushedSegments.delete(segment);
      }
    }
    directories.flush(onError);
    if (this.#unflushedSegments.size > 0) {
      this.#setTimer();
    }
  }

  #commitNow(segment: OpenSegment): void {
    try {
      segment.flushNow();
    } catch (error) {
      this.#options.onError(error);
    }
  }
}

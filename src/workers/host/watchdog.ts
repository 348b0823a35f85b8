import type { Heartbeats } from "./heartbeat.ts";

/** A thread, as far as it is looked after. */
export interface WatchedThread {
  readonly threadId: number;
  terminate(): Promise<unknown>;
}

export interface WatchdogOptions {
  readonly heartbeats: Heartbeats;
  readonly threads: () => readonly WatchedThread[];
  /** How long a thread's loop may stand still. */
  readonly stallMs: number;
  /** Called for each thread that is ended for it. */
  readonly onStuck: () => void;
}

/** A thread that was not seen alive yet has at least so long: starting is slow on a machine that is busy. */
const startMs = 10_000;

/** How often threads are looked at: several times within the limit, so that a thread has as many chances. */
export const sliceOf = (stallMs: number): number => Math.min(1_000, Math.ceil(stallMs / 8));

/**
 * Ends threads whose event loop stands still: one that waits for the server turns, one in an endless
 * loop does not. What is counted is turns of this thread's own timer, not the clock's time: a process
 * that was stopped, or a main thread that was busy, must not blame its workers.
 */
export class Watchdog {
  readonly #options: WatchdogOptions;
  readonly #silence = new Map<number, { beats: number; slices: number }>();
  #timer: NodeJS.Timeout | undefined;
  #tasks = 0;

  constructor(options: WatchdogOptions) {
    this.#options = options;
  }

  /** Registers a task under way. Call the returned function when it is over. */
  watch(): () => void {
    this.#tasks += 1;
    if (this.#timer === undefined) {
      this.#timer = setInterval(() => this.#check(), sliceOf(this.#options.stallMs));
      this.#timer.unref();
    }
    return () => {
      this.#tasks -= 1;
      if (this.#tasks === 0) {
        clearInterval(this.#timer);
        this.#timer = undefined;
        this.#silence.clear();
      }
    };
  }

  #check(): void {
    const { heartbeats, threads, stallMs, onStuck } = this.#options;
    const alive = threads();
    const ids = new Set(alive.map(({ threadId }) => threadId));
    heartbeats.keepOnly(ids);
    for (const id of this.#silence.keys()) {
      if (!ids.has(id)) {
        this.#silence.delete(id);
      }
    }
    for (const thread of alive) {
      const beats = heartbeats.beats(thread.threadId);
      const seen = this.#silence.get(thread.threadId);
      const slices = seen?.beats === beats ? seen.slices + 1 : 0;
      this.#silence.set(thread.threadId, { beats, slices });
      const limitMs = beats === 0 ? Math.max(stallMs, startMs) : stallMs;
      if (slices * sliceOf(stallMs) >= limitMs) {
        this.#silence.delete(thread.threadId);
        onStuck();
        // Its end rejects its tasks; that it has no listener for a failure to end it does not matter.
        thread.terminate().catch(() => undefined);
      }
    }
  }
}

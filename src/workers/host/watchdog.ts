import type { Heartbeats } from "./heartbeat.ts";

/** The part of a worker thread that the watchdog uses. */
export interface WatchedThread {
  readonly threadId: number;
  terminate(): Promise<unknown>;
}

/** Options of {@link Watchdog}. */
export interface WatchdogOptions {
  readonly heartbeats: Heartbeats;
  /** Returns the worker threads that are running. */
  readonly listThreads: () => readonly WatchedThread[];
  /** Milliseconds for which a thread's event loop may be blocked. */
  readonly stallMs: number;
  /** Called for each thread that is ended because its event loop was blocked. */
  readonly onStuck: () => void;
}

/**
 * A thread gets at least this many milliseconds until its first heartbeat, because starting a thread is slow on a busy
 * machine.
 */
const minStartMs = 10_000;

/**
 * Milliseconds between two checks, and between two beats of a worker. Several checks fit into `stallMs`, so that one
 * late beat does not end a thread.
 */
export const toCheckIntervalMs = (stallMs: number): number =>
  Math.min(1_000, Math.ceil(stallMs / 8));

/**
 * Ends threads whose event loop is blocked. A thread that waits for the server still runs its event loop; a thread in
 * an endless loop does not. Stalls are measured in ticks of this thread's own timer, not in clock time: after the
 * process was suspended, or the main thread was busy, no worker must be ended because of the gap.
 */
export class Watchdog {
  readonly #options: WatchdogOptions;
  readonly #stalls = new Map<number, { beats: number; missedBeats: number }>();
  #timer: NodeJS.Timeout | undefined;
  #runningTasks = 0;

  constructor(options: WatchdogOptions) {
    this.#options = options;
  }

  /** Registers a running task. Call the returned function when the task has ended. */
  watch(): () => void {
    this.#runningTasks += 1;
    if (this.#timer === undefined) {
      this.#timer = setInterval(
        () => this.#endStuckThreads(),
        toCheckIntervalMs(this.#options.stallMs),
      );
      this.#timer.unref();
    }
    return () => {
      this.#runningTasks -= 1;
      if (this.#runningTasks === 0) {
        clearInterval(this.#timer);
        this.#timer = undefined;
        this.#stalls.clear();
      }
    };
  }

  #endStuckThreads(): void {
    const { heartbeats, listThreads, stallMs, onStuck } = this.#options;
    const runningThreads = listThreads();
    const ids = new Set(runningThreads.map(({ threadId }) => threadId));
    heartbeats.releaseOthers(ids);
    for (const id of this.#stalls.keys()) {
      if (!ids.has(id)) {
        this.#stalls.delete(id);
      }
    }
    const hasBusyThread = runningThreads.some(({ threadId }) => !heartbeats.isIdle(threadId));
    for (const thread of runningThreads) {
      if (hasBusyThread && heartbeats.isIdle(thread.threadId)) {
        // Another thread has the tasks. If all threads are idle, one of them must have received a task without
        // beginning it.
        this.#stalls.delete(thread.threadId);
        continue;
      }
      const beats = heartbeats.readBeats(thread.threadId);
      const lastCheck = this.#stalls.get(thread.threadId);
      const missedBeats = lastCheck?.beats === beats ? lastCheck.missedBeats + 1 : 0;
      this.#stalls.set(thread.threadId, { beats, missedBeats });
      const limitMs = beats === 0 ? Math.max(stallMs, minStartMs) : stallMs;
      if (missedBeats * toCheckIntervalMs(stallMs) >= limitMs) {
        this.#stalls.delete(thread.threadId);
        onStuck();
        // Ending the thread rejects its tasks. A failure of `terminate` itself needs no handling.
        thread.terminate().catch(() => undefined);
      }
    }
  }
}

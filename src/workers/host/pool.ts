import { Piscina } from "piscina";
import type { StatsReport } from "../../model/records/stats-report.ts";
import type {
  FailureNotice,
  ShippingOptions,
  ShipReport,
  ShipTask,
} from "../../model/records/shipping.ts";
import { Heartbeats, createHeartbeatMemory } from "./heartbeat.ts";
import type { ShipData } from "./ship.task.ts";
import { toCheckIntervalMs, Watchdog } from "./watchdog.ts";
import { findWorkerFile } from "./worker-file.ts";

/** Options of {@link WorkerPool}. */
export interface PoolOptions {
  /** Number of worker threads. With 0 this thread sends the tapes, the buffers of recorded runs, itself. */
  readonly threads: number;
  readonly shipping: ShippingOptions;
  /** Milliseconds for which a worker's event loop may be blocked before the worker is ended. */
  readonly stallMs: number;
  /** Environment variables of the workers. */
  readonly env: Readonly<Record<string, string>>;
  /**
   * If workers have started before but fail now: milliseconds for which this thread sends the tapes itself before it
   * tries workers again.
   * @defaultValue one minute
   */
  readonly retryWorkersAfterMs?: number;
  /** Called when no worker can start. From then on this thread sends the tapes itself. */
  readonly onInlineMode: (reason: string) => void;
  /** Called with a tape's id as soon as an attempt to send its records failed. */
  readonly onFailure?: (tapeId: number) => void;
  /** Called when a worker was ended because its event loop was blocked. */
  readonly onStuck?: () => void;
}

/**
 * A worker has one function for each of the two types of task. Only the function for {@link ShipTask} returns a report.
 */
type Pool = Piscina<ShipTask | StatsReport, ShipReport>;

/** Sends tapes, the buffers of recorded runs, in worker threads, or on this thread if no worker can run. */
export interface TapeShipper {
  /**
   * Whether {@link ship} hands the tape to another thread immediately, so that this thread may
   * block until the report arrives.
   */
  readonly isThreaded: boolean;
  /**
   * Rejects only when the worker crashed while it had the tape, or with a RangeError when the tape
   * can't be read.
   */
  ship(task: ShipTask): Promise<ShipReport>;
  /** Ends threads and connections. Tapes that are still being sent are abandoned. */
  close(): Promise<void>;
}

/**
 * Tasks that one worker accepts at the same time. The limit is so high that it is never reached, even at process exit,
 * when all remaining tapes are posted at once.
 */
const tasksPerWorker = 1_024;
const maxQueuedTasks = 65_536;
/** After this many failed starts of worker threads in a row, this thread sends the tapes itself. */
const maxFailedStarts = 2;
const minuteMs = 60_000;

/** The worker threads that send tapes, the buffers of recorded runs. They start with the first tape. */
export class WorkerPool implements TapeShipper {
  readonly #options: PoolOptions;
  #piscina: Pool | undefined;
  #startedInlineShipper: Promise<TapeShipper> | undefined;
  #isClosed = false;
  #hasSentTape = false;
  /**
   * Time in `performance.now()` until which this thread sends the tapes itself. Infinity if no worker ever started.
   */
  #inlineModeUntil = Number.NEGATIVE_INFINITY;
  readonly #heartbeatMemory: SharedArrayBuffer;
  readonly #heartbeats: Heartbeats;
  readonly #watchdog: Watchdog;
  /** Number of threads that ended. */
  #endedCount = 0;
  /**
   * Number of failed starts of threads since a worker last returned a report. A start has failed if the thread could
   * not be created, ended before it started, or started but could not do its work.
   */
  #failedStarts = 0;
  /**
   * Thread handles keep the process alive while a task is in flight, so they are unref'd after each task is handed to a
   * thread.
   */
  readonly #threadHandles = new Map<object, ThreadHandle>();

  constructor(options: PoolOptions) {
    this.#options = options;
    // Reserve slots for twice the number of threads: a new thread may start before the slot of a crashed one is free.
    this.#heartbeatMemory = createHeartbeatMemory(2 * Math.max(1, options.threads));
    this.#heartbeats = new Heartbeats(this.#heartbeatMemory);
    this.#watchdog = new Watchdog({
      heartbeats: this.#heartbeats,
      listThreads: () => this.#piscina?.threads ?? [],
      stallMs: options.stallMs,
      onStuck: options.onStuck ?? (() => undefined),
    });
  }

  get isThreaded(): boolean {
    return this.#options.threads > 0 && performance.now() >= this.#inlineModeUntil;
  }

  async ship(task: ShipTask): Promise<ShipReport> {
    this.#leaveInlineModeIfDue();
    while (this.isThreaded) {
      const failedStartsBefore = this.#failedStarts;
      const endedCountBefore = this.#endedCount;
      const stopWatching = this.#watchdog.watch();
      try {
        const report = await this.#runInWorker(task);
        this.#failedStarts = 0;
        this.#hasSentTape = true;
        return report;
      } catch (error) {
        if (
          !this.#hasSentTape &&
          this.#endedCount === endedCountBefore &&
          isUnrelatedToTape(error)
        ) {
          // The thread runs but can't do its work, for example because a bundler split the task's file.
          this.#failedStarts += 1;
        }
        if (this.#isClosed || this.#failedStarts <= failedStartsBefore) {
          // The thread had started before it crashed. The caller determines whether this tape caused the crash.
          throw error;
        }
        if (this.#failedStarts >= maxFailedStarts && this.isThreaded) {
          const { retryWorkersAfterMs = minuteMs, onInlineMode } = this.#options;
          this.#inlineModeUntil = this.#hasSentTape
            ? performance.now() + retryWorkersAfterMs
            : Number.POSITIVE_INFINITY;
          onInlineMode(error instanceof Error ? error.message : String(error));
        }
      } finally {
        stopWatching();
      }
    }
    return (await this.#getInlineShipper()).ship(task);
  }

  /**
   * Returns to sending in workers when `retryWorkersAfterMs` has passed. They have started before, so they may start
   * again: the machine may only have been busy, or short of memory.
   */
  #leaveInlineModeIfDue(): void {
    if (this.isThreaded && this.#inlineModeUntil > 0) {
      this.#failedStarts = 0;
      this.#inlineModeUntil = Number.NEGATIVE_INFINITY;
    }
  }

  /**
   * Makes a worker report to the server how many records the client accepted, delivered, rejected, dropped and so on.
   * Does nothing if no worker runs, because the main thread must not spend time on reports.
   */
  async report(report: StatsReport): Promise<void> {
    const pool = this.#isClosed || !this.isThreaded ? undefined : this.#piscina;
    if (pool !== undefined && pool.threads.length > 0) {
      const sent = pool.run(report, { name: "report" });
      queueMicrotask(() => this.#unrefThreads());
      await sent;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const inlineShipper = await this.#startedInlineShipper;
    await Promise.all([this.#piscina?.destroy(), inlineShipper?.close()]);
  }

  /** Counts an ended thread, and counts a failed start if the thread ended before it started. */
  #countEndedThread(thread: object): void {
    this.#endedCount += 1;
    const info = findThreadInfo(thread);
    const handle = this.#threadHandles.get(info);
    this.#threadHandles.delete(info);
    if (handle === undefined || this.#heartbeats.readBeats(handle.threadId) === 0) {
      this.#failedStarts += 1;
    }
    // The thread that replaces the ended one needs a heartbeat slot at once: without a slot it would be considered a
    // thread that never started.
    const runningThreads = this.#piscina?.threads ?? [];
    this.#heartbeats.releaseOthers(new Set(runningThreads.map(({ threadId }) => threadId)));
  }

  async #runInWorker(task: ShipTask): Promise<ShipReport> {
    this.#piscina ??= this.#createPool();
    const report = this.#piscina.run(task);
    // Do not do this immediately, because Piscina announces new threads in a microtask.
    queueMicrotask(() => this.#unrefThreads());
    return report;
  }

  #createPool(): Pool {
    const { threads, shipping, env, stallMs } = this.#options;
    const heartbeat = { memory: this.#heartbeatMemory, intervalMs: toCheckIntervalMs(stallMs) };
    const pool = new Piscina<ShipTask | StatsReport, ShipReport>({
      filename: findWorkerFile(),
      minThreads: threads,
      maxThreads: threads,
      concurrentTasksPerWorker: tasksPerWorker,
      maxQueue: maxQueuedTasks,
      // The default freezes a worker between tasks: no timer, retry or keep-alive would run there.
      atomics: "disabled",
      idleTimeout: Number.POSITIVE_INFINITY,
      recordTiming: false,
      // `--require` and `--import` options of the program would run in every worker, and might
      // start workers themselves.
      execArgv: [],
      env,
      workerData: { options: shipping, heartbeat } satisfies ShipData,
    });
    // Without a listener a late error of a worker would end the program. The promises of its tapes reject anyway.
    pool.on("error", () => undefined);
    pool.on("message", ({ failedTapeId }: FailureNotice) =>
      this.#options.onFailure?.(failedTapeId),
    );
    pool.on("workerCreate", (thread: { readonly id: number }) => {
      const info = findThreadInfo(thread);
      this.#threadHandles.set(info, { threadId: thread.id, unref: findUnref(info) });
    });
    pool.on("workerDestroy", (thread: object) => {
      this.#countEndedThread(thread);
      queueMicrotask(() => this.#replaceIfEmpty(pool));
    });
    return pool;
  }

  /**
   * Piscina does not replace a thread that crashed while it started, and leaves the queued tasks
   * pending forever. Destroying the pool rejects those tasks; the next tape starts a new pool.
   */
  #replaceIfEmpty(pool: Pool): void {
    if (this.#piscina === pool && !this.#isClosed && pool.threads.length === 0) {
      this.#piscina = undefined;
      this.#threadHandles.clear();
      void pool.destroy();
    }
  }

  /**
   * Piscina keeps the process alive while a task runs. How long the process may wait at its end is
   * decided by `drainTimeoutMs`, so the threads are unref'd here and `delivery/lifecycle.ts` keeps
   * the process alive instead.
   */
  #unrefThreads(): void {
    for (const { unref } of this.#threadHandles.values()) {
      unref();
    }
  }

  #getInlineShipper(): Promise<TapeShipper> {
    this.#startedInlineShipper ??= createInlineShipper(this.#options);
    return this.#startedInlineShipper;
  }
}

/** Whether an error has nothing to do with the tape: a malformed tape throws a RangeError. */
const isUnrelatedToTape = (error: unknown): boolean => !(error instanceof RangeError);

/** Runs the worker's code on this thread. It is imported only if needed. */
async function createInlineShipper({ shipping, onFailure }: PoolOptions): Promise<TapeShipper> {
  const { Shipper } = await import("./shipper.ts");
  const shipper = new Shipper(shipping, onFailure);
  let inFlight = 0;
  return {
    isThreaded: false,
    async ship(task) {
      inFlight += 1;
      try {
        return await shipper.ship(task);
      } finally {
        inFlight -= 1;
        if (inFlight === 0) {
          shipper.abortInfoRequest();
        }
      }
    },
    close: () => shipper.close(),
  };
}

/** What the pool stores about a worker thread. */
interface ThreadHandle {
  /** The id that the thread had when it was created: once it has ended, Node returns -1. */
  readonly threadId: number;
  readonly unref: () => void;
}

/**
 * Finds the object that represents a thread inside Piscina. Each event passes a new wrapper of this object. The wrapper
 * stores the object under a symbol, which is not part of Piscina's public interface.
 */
function findThreadInfo(thread: object): object {
  for (const key of Object.getOwnPropertySymbols(thread)) {
    const value: unknown = Reflect.get(thread, key);
    if (typeof value === "object" && value !== null && "unref" in value) {
      return value;
    }
  }
  // Another version of Piscina may store the object elsewhere. The thread can then not be unref'd, so the process ends
  // only after its tasks have ended.
  return thread;
}

const findUnref = (info: object): (() => void) => {
  const unref: unknown = Reflect.get(info, "unref");
  return typeof unref === "function" ? () => void Reflect.apply(unref, info, []) : () => undefined;
};

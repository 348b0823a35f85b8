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
   * If workers have started before but fail now: milliseconds for which this thread sends before
   * workers are tried again.
   * @defaultValue one minute
   */
  readonly retryWorkersAfterMs?: number;
  /** Called when no worker can start, so that this thread sends the tapes instead. */
  readonly onInlineMode: (reason: string) => void;
  /** Called with a tape's id as soon as an attempt to send its records failed. */
  readonly onFailure?: (tapeId: number) => void;
  /** Called when a worker was ended because its event loop was blocked. */
  readonly onStuck?: () => void;
}

/**
 * A worker has one function for each of the two types of task. Only that for {@link ShipTask} returns a report.
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
  /** Number of threads that could not be created, or started but could not do their work. */
  #failedToCreateCount = 0;
  /** Number of failed starts that no longer count, because a later start succeeded. */
  #obsoleteFailures = 0;
  /**
   * Thread handles keep the process alive while a task is in flight, so they are unref'd after each
   * hand-over.
   */
  readonly #threadHandles = new Set<ThreadHandle>();

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
        this.#obsoleteFailures += this.#failedStarts;
        this.#hasSentTape = true;
        return report;
      } catch (error) {
        if (
          !this.#hasSentTape &&
          this.#endedCount === endedCountBefore &&
          isUnrelatedToTape(error)
        ) {
          // The thread runs but can't do its work, for example because a bundler split the task's file.
          this.#failedToCreateCount += 1;
        }
        if (this.#isClosed || this.#failedStarts <= failedStartsBefore) {
          // The thread had started before it crashed. The caller determines whether this tape made it crash.
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
      this.#obsoleteFailures += this.#failedStarts;
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

  /**
   * Number of threads that ended before they started, or could not be created, since the last
   * success.
   */
  get #failedStarts(): number {
    const threads = this.#piscina?.threads ?? [];
    const startedAndRunning = threads.filter(
      ({ threadId }) => this.#heartbeats.readBeats(threadId) > 0,
    ).length;
    return (
      this.#failedToCreateCount +
      this.#endedCount -
      (this.#heartbeats.startedCount - startedAndRunning) -
      this.#obsoleteFailures
    );
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
    pool.on("workerCreate", (thread: object) => {
      this.#threadHandles.add(findThreadHandle(thread));
    });
    pool.on("workerDestroy", () => {
      this.#endedCount += 1;
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
    for (const thread of this.#threadHandles) {
      thread.unref();
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

/** The part of a worker thread's handle that is used here. */
interface ThreadHandle {
  unref(): void;
}

/**
 * Finds the `Worker` in the object that Piscina emits. Piscina keeps it under a symbol, outside its
 * public interface.
 */
function findThreadHandle(thread: object): ThreadHandle {
  for (const key of Object.getOwnPropertySymbols(thread)) {
    const value: unknown = Reflect.get(thread, key);
    if (typeof value === "object" && value !== null && "unref" in value) {
      const { unref } = value;
      if (typeof unref === "function") {
        return { unref: () => void Reflect.apply(unref, value, []) };
      }
    }
  }
  // Another version of Piscina may store the worker elsewhere. The process then ends only after the tasks have ended.
  return { unref: () => undefined };
}

import { Worker } from "node:worker_threads";
import type { Piscina } from "piscina";
import type { StatsReport } from "../../model/records/stats-report.ts";
import type {
  FailureNotice,
  ShippingOptions,
  ShipReport,
  ShipTask,
  TapeShipper,
} from "../../model/records/shipping.ts";
import { Heartbeats, createHeartbeatMemory } from "./heartbeat.ts";
import { createInlineShipper } from "./inline-shipper.ts";
import { LastTapes } from "./last-tapes.ts";
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
   * If workers have sent tapes before but can't start now: milliseconds for which this thread sends the tapes itself
   * before it tries workers again.
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

/**
 * Tasks that one worker accepts at the same time. The limit is so high that it is never reached, even at process exit,
 * when all remaining tapes are posted at once.
 */
const tasksPerWorker = 1_024;
const maxQueuedTasks = 65_536;
/** After this many failed starts of worker threads in a row, this thread sends the tapes itself. */
const maxFailedStarts = 2;
const minuteMs = 60_000;

/**
 * Sends tapes, the buffers of recorded runs, in worker threads, which start with the first tape. A program that ends
 * before a worker was needed starts none: starting one takes longer than sending a few runs from this thread.
 */
export class WorkerPool implements TapeShipper {
  readonly #options: PoolOptions;
  #piscina: Pool | undefined;
  #openingPool: Promise<Pool> | undefined;
  /** Tapes that wait until the pool is open. */
  readonly #waitingForPool = new Set<ShipTask>();
  #startedInlineShipper: Promise<TapeShipper> | undefined;
  readonly #lastTapes: LastTapes;
  /** Whether a tape was ever given to a worker. From then on {@link LastTapes} sends no more tapes. */
  #hasNeededWorker = false;
  #isClosed = false;
  #hasSentTape = false;
  /**
   * Time in `performance.now()` until which this thread sends the tapes itself. Infinity if no worker has ever sent a
   * tape.
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
    this.#lastTapes = new LastTapes(() => createInlineShipper(options, { isForFewTapes: true }));
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

  /** Whether tapes are sent by worker threads, so that {@link shipAtExit} can be used. */
  get isThreaded(): boolean {
    return this.#options.threads > 0 && performance.now() >= this.#inlineModeUntil;
  }

  /** Whether this thread, and not only a worker, sends tapes. Its sockets then keep the process alive. */
  get isSendingHere(): boolean {
    return !this.isThreaded || this.#lastTapes.tasks.length > 0;
  }

  /**
   * Call this before a flush or a close sends tapes: perhaps the program is about to end. If no worker has started yet,
   * this thread may send them itself, but not if it would have to search them for secrets: a pattern that the program
   * defines may take forever. Call the returned function when the flush has ended.
   */
  expectEnd(): () => void {
    return this.#hasNeededWorker || this.#options.shipping.redaction !== undefined
      ? () => undefined
      : this.#lastTapes.expectEnd();
  }

  async ship(task: ShipTask): Promise<ShipReport> {
    this.#leaveInlineModeIfDue();
    if (this.isThreaded && !this.#hasNeededWorker && this.#lastTapes.accepts(task)) {
      return this.#lastTapes.ship(task);
    }
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
   * Hands these tapes, and those that no worker has yet, to a worker at once. This thread may then block until the
   * outcomes are written into the tapes. Their reports are lost: call this only when the process exits. Returns false
   * if no worker can start.
   */
  shipAtExit(tasks: readonly ShipTask[]): boolean {
    const unsentTasks = [...this.#lastTapes.tasks, ...this.#waitingForPool, ...tasks];
    try {
      if (this.#piscina !== undefined) {
        for (const task of unsentTasks) {
          this.#piscina.run(task).catch(() => undefined);
        }
      } else if (unsentTasks.length > 0) {
        // A thread starts at once, while the pool would open only in a later turn of the event loop.
        const { execArgv, env, workerData } = this.#createThreadOptions();
        const data: ShipData = { ...workerData, tasks: unsentTasks };
        new Worker(findWorkerFile(), { execArgv, env, workerData: data }).on(
          "error",
          () => undefined,
        );
      }
      return true;
    } catch {
      // The caller spools the records, or counts them as lost.
      return false;
    }
  }

  /**
   * Returns to sending in workers when `retryWorkersAfterMs` has passed. They have worked before, so they may work
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
   * Without a worker, this thread sends the report only if it sent tapes itself because the program might have ended.
   * Otherwise this thread must not spend time on reports.
   */
  async report(report: StatsReport): Promise<void> {
    if (this.#isClosed || !this.isThreaded) {
      return;
    }
    const pool = this.#piscina;
    if (!this.#hasNeededWorker) {
      await this.#lastTapes.report(report);
    } else if (pool !== undefined && pool.threads.length > 0) {
      const sending = pool.run(report, { name: "report" });
      queueMicrotask(() => this.#unrefThreads());
      await sending;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#openingPool?.catch(() => undefined);
    await Promise.all([
      this.#piscina?.destroy(),
      this.#startedInlineShipper?.then((shipper) => shipper.close()),
      this.#lastTapes.close(),
    ]);
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
    const pool = this.#piscina ?? (await this.#waitForPool(task));
    const report = pool.run(task);
    // Do not do this immediately, because Piscina announces new threads in a microtask.
    queueMicrotask(() => this.#unrefThreads());
    return report;
  }

  async #waitForPool(task: ShipTask): Promise<Pool> {
    this.#hasNeededWorker = true;
    this.#waitingForPool.add(task);
    this.#openingPool ??= this.#openPool();
    const opening = this.#openingPool;
    try {
      return await opening;
    } catch (error) {
      if (this.#openingPool === opening) {
        // The next tape tries again.
        this.#openingPool = undefined;
      }
      throw error;
    } finally {
      this.#waitingForPool.delete(task);
    }
  }

  /** Opens the pool. Piscina is imported here, so that the import of the SDK does not load it. */
  async #openPool(): Promise<Pool> {
    const { threads } = this.#options;
    const { Piscina: PiscinaPool } = await import("piscina");
    const pool = new PiscinaPool<ShipTask | StatsReport, ShipReport>({
      filename: findWorkerFile(),
      minThreads: threads,
      maxThreads: threads,
      concurrentTasksPerWorker: tasksPerWorker,
      maxQueue: maxQueuedTasks,
      // The default freezes a worker between tasks: no timer, retry or keep-alive would run there.
      atomics: "disabled",
      idleTimeout: Number.POSITIVE_INFINITY,
      recordTiming: false,
      ...this.#createThreadOptions(),
    });
    this.#piscina = pool;
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

  #createThreadOptions(): ThreadOptions {
    const { shipping, env, stallMs } = this.#options;
    const heartbeat = { memory: this.#heartbeatMemory, intervalMs: toCheckIntervalMs(stallMs) };
    return {
      // `--require` and `--import` options of the program would run in every worker, and might
      // start workers themselves.
      execArgv: [],
      env,
      workerData: { options: shipping, heartbeat, serverInfo: this.#lastTapes.serverInfo },
    };
  }

  /**
   * Piscina does not replace a thread that crashed while it started, and leaves the queued tasks
   * pending forever. Destroying the pool rejects those tasks; the next tape starts a new pool.
   */
  #replaceIfEmpty(pool: Pool): void {
    if (this.#piscina === pool && !this.#isClosed && pool.threads.length === 0) {
      this.#piscina = undefined;
      this.#openingPool = undefined;
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
    this.#startedInlineShipper ??= createInlineShipper(this.#options, { isForFewTapes: false });
    return this.#startedInlineShipper;
  }
}

/** Whether an error has nothing to do with the tape: a malformed tape throws a RangeError. */
const isUnrelatedToTape = (error: unknown): boolean => !(error instanceof RangeError);

/** The options of a thread that sends tapes. */
interface ThreadOptions {
  readonly execArgv: string[];
  readonly env: Readonly<Record<string, string>>;
  readonly workerData: ShipData;
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

import { Piscina } from "piscina";
import type { SenderReport } from "../../model/records/sender-report.ts";
import type {
  FailureNotice,
  ShippingOptions,
  ShipReport,
  ShipTask,
} from "../../model/records/shipping.ts";
import { Heartbeats, heartbeatMemory } from "./heartbeat.ts";
import type { ShipData } from "./ship.task.ts";
import { sliceOf, Watchdog } from "./watchdog.ts";
import { findWorkerFile } from "./worker-file.ts";

export interface PoolOptions {
  /** Threads; 0 sends from this thread. */
  readonly threads: number;
  readonly shipping: ShippingOptions;
  /** How long a worker's event loop may stand still before the worker is ended. */
  readonly stallMs: number;
  /** The environment that workers see. */
  readonly env: Readonly<Record<string, string>>;
  /** How long this thread sends before workers are tried again that had come up once. @defaultValue a minute */
  readonly againMs?: number;
  /** Called when no worker can start and this thread sends instead. */
  readonly onInline: (reason: string) => void;
  /** Called with a tape's id as soon as a try of its records failed. */
  readonly onFailure?: (tapeId: number) => void;
  /** Called when a worker was ended because its event loop was blocked. */
  readonly onStuck?: () => void;
}

/** Each task has a function of its own in the worker; only that of tapes answers. */
type Pool = Piscina<ShipTask | SenderReport, ShipReport>;

/** Sends tapes: in worker threads, or inline where there can be none. */
export interface TapeShipper {
  /** Whether {@link ship} reaches another thread at once, so that this one may block for the answer. */
  readonly threaded: boolean;
  /** Rejects only when the worker died with the tape, or the tape can't be read, a RangeError. */
  ship(task: ShipTask): Promise<ShipReport>;
  /** Ends threads and connections; tapes under way are given up. */
  close(): Promise<void>;
}

/** Tasks that one worker takes at once: more than are ever under way, for at the end all are posted. */
const tasksPerWorker = 1_024;
const longestQueue = 65_536;
/** Threads that failed to start, with no success between, after which this thread sends instead. */
const startsTried = 2;
const minuteMs = 60_000;

/** The threads that turn tapes into requests. Nothing is started before the first tape. */
export class WorkerPool implements TapeShipper {
  readonly #options: PoolOptions;
  #piscina: Pool | undefined;
  #inline: Promise<TapeShipper> | undefined;
  #closed = false;
  #worked = false;
  /** This thread sends until then; for good where no worker ever came up. */
  #inlineUntil = Number.NEGATIVE_INFINITY;
  readonly #heartbeatMemory: SharedArrayBuffer;
  readonly #heartbeats: Heartbeats;
  readonly #watchdog: Watchdog;
  /** Threads that ended. */
  #ended = 0;
  /** Threads that could not even be made, or came up and can't do their work. */
  #failedToCreate = 0;
  /** Start failures that a later start made irrelevant. */
  #obsoleteFailures = 0;
  /** Thread handles that keep the process alive for a task in flight: unref'd after each hand-over. */
  readonly #threads = new Set<Unrefable>();

  constructor(options: PoolOptions) {
    this.#options = options;
    // Twice, as one thread may come up before the place of another that died is free.
    this.#heartbeatMemory = heartbeatMemory(2 * Math.max(1, options.threads));
    this.#heartbeats = new Heartbeats(this.#heartbeatMemory);
    this.#watchdog = new Watchdog({
      heartbeats: this.#heartbeats,
      threads: () => this.#piscina?.threads ?? [],
      stallMs: options.stallMs,
      onStuck: options.onStuck ?? (() => undefined),
    });
  }

  get threaded(): boolean {
    return this.#options.threads > 0 && performance.now() >= this.#inlineUntil;
  }

  async ship(task: ShipTask): Promise<ShipReport> {
    this.#tryAgain();
    while (this.threaded) {
      const failedBefore = this.#failedStarts;
      const goneBefore = this.#ended;
      const over = this.#watchdog.watch();
      try {
        const report = await this.#run(task);
        this.#obsoleteFailures += this.#failedStarts;
        this.#worked = true;
        return report;
      } catch (error) {
        if (!this.#worked && this.#ended === goneBefore && isOfNoTape(error)) {
          // Its thread runs but can't do its work, for example because a bundler split the task's file.
          this.#failedToCreate += 1;
        }
        if (this.#closed || this.#failedStarts <= failedBefore) {
          // Its thread had come up: whether the tape ended it is for others to find out.
          throw error;
        }
        if (this.#failedStarts >= startsTried && this.threaded) {
          const { againMs = minuteMs, onInline } = this.#options;
          this.#inlineUntil = this.#worked ? performance.now() + againMs : Number.POSITIVE_INFINITY;
          onInline(error instanceof Error ? error.message : String(error));
        }
      } finally {
        over();
      }
    }
    return (await this.#inlineShipper()).ship(task);
  }

  /** Workers that came up before will again: a machine may have been busy, or short of memory. */
  #tryAgain(): void {
    if (this.threaded && this.#inlineUntil > 0) {
      this.#obsoleteFailures += this.#failedStarts;
      this.#inlineUntil = Number.NEGATIVE_INFINITY;
    }
  }

  /** Has a worker report counts to the server. Skipped without workers, to spare the main thread. */
  async report(report: SenderReport): Promise<void> {
    const pool = this.#closed || !this.threaded ? undefined : this.#piscina;
    if (pool !== undefined && pool.threads.length > 0) {
      const sent = pool.run(report, { name: "report" });
      queueMicrotask(() => this.#unrefThreads());
      await sent;
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    const inline = await this.#inline;
    await Promise.all([this.#piscina?.destroy(), inline?.close()]);
  }

  /** Threads that ended before they came up, or could not be made, since the last success. */
  get #failedStarts(): number {
    const living = this.#piscina?.threads ?? [];
    const up = living.filter(({ threadId }) => this.#heartbeats.beats(threadId) > 0).length;
    return (
      this.#failedToCreate + this.#ended - (this.#heartbeats.risen - up) - this.#obsoleteFailures
    );
  }

  async #run(task: ShipTask): Promise<ShipReport> {
    this.#piscina ??= this.#start();
    const report = this.#piscina.run(task);
    // Not at once: new threads announce themselves in a microtask.
    queueMicrotask(() => this.#unrefThreads());
    return report;
  }

  #start(): Pool {
    const { threads, shipping, env, stallMs } = this.#options;
    const heartbeat = { memory: this.#heartbeatMemory, everyMs: sliceOf(stallMs) };
    const pool = new Piscina<ShipTask | SenderReport, ShipReport>({
      filename: findWorkerFile(),
      minThreads: threads,
      maxThreads: threads,
      concurrentTasksPerWorker: tasksPerWorker,
      maxQueue: longestQueue,
      // The default freezes a worker between tasks: no timer, retry or keep-alive would run there.
      atomics: "disabled",
      idleTimeout: Number.POSITIVE_INFINITY,
      recordTiming: false,
      // Preloads of the program would run in every worker, and start workers of their own.
      execArgv: [],
      env,
      workerData: { options: shipping, heartbeat } satisfies ShipData,
    });
    // Without a listener a late error of a worker ends the program. Its tapes reject on their own.
    pool.on("error", () => undefined);
    pool.on("message", ({ failedTape }: FailureNotice) => this.#options.onFailure?.(failedTape));
    pool.on("workerCreate", (thread: object) => {
      this.#threads.add(unrefableOf(thread));
    });
    pool.on("workerDestroy", () => {
      this.#ended += 1;
      queueMicrotask(() => this.#abandonEmpty(pool));
    });
    return pool;
  }

  /**
   * Piscina starts no thread in place of one that died while it started, and leaves what is in line
   * there for ever. Destroying it rejects those tapes; the next one starts a pool anew.
   */
  #abandonEmpty(pool: Pool): void {
    if (this.#piscina === pool && !this.#closed && pool.threads.length === 0) {
      this.#piscina = undefined;
      this.#threads.clear();
      void pool.destroy();
    }
  }

  /**
   * Piscina holds the process while a task is under way. How long a natural end may wait is ours to
   * say (`drainTimeoutMs`), so the hold is undone; lifecycle holds the process instead.
   */
  #unrefThreads(): void {
    for (const thread of this.#threads) {
      thread.unref();
    }
  }

  #inlineShipper(): Promise<TapeShipper> {
    this.#inline ??= startInline(this.#options);
    return this.#inline;
  }
}

/** Whether an error is not about the tape: a malformed tape throws a RangeError. */
const isOfNoTape = (error: unknown): boolean => !(error instanceof RangeError);

/** The same code on this thread; loaded only where it is needed. */
async function startInline({ shipping, onFailure }: PoolOptions): Promise<TapeShipper> {
  const { Shipper } = await import("./shipper.ts");
  const shipper = new Shipper(shipping, onFailure);
  let underWay = 0;
  return {
    threaded: false,
    async ship(task) {
      underWay += 1;
      try {
        return await shipper.ship(task);
      } finally {
        underWay -= 1;
        if (underWay === 0) {
          shipper.abortInfo();
        }
      }
    },
    close: () => shipper.close(),
  };
}

interface Unrefable {
  unref(): void;
}

/** The thread behind what Piscina announces: held under a symbol, not part of its interface. */
function unrefableOf(thread: object): Unrefable {
  for (const key of Object.getOwnPropertySymbols(thread)) {
    const value: unknown = Reflect.get(thread, key);
    if (typeof value === "object" && value !== null && "unref" in value) {
      const { unref } = value;
      if (typeof unref === "function") {
        return { unref: () => void Reflect.apply(unref, value, []) };
      }
    }
  }
  // A pool that keeps it elsewhere: a natural end then waits until the tasks end by themselves.
  return { unref: () => undefined };
}

import type { Client, ClientStats } from "millrace";
import { LoopWatch } from "./loop-watch.ts";
import type { LoopFigures } from "./loop-watch.ts";
import { mainCpuMicros } from "./main-cpu.ts";

/** Measurements of a load so far. Counts are numbers of runs unless the name says otherwise. */
export interface Figures {
  readonly recorded: number;
  readonly acknowledged: number;
  readonly pending: number;
  /** Runs that were dropped, for any reason. */
  readonly dropped: number;
  /** Number of lost records by reason. A run has two records: its start and its end. */
  readonly lostRecords: Partial<ClientStats["lost"]>;
  readonly seconds: number;
  /** Acknowledged runs per second. */
  readonly runsPerSecond: number;
  /** Megabytes of request bodies per second, as sent. */
  readonly megabytesPerSecond: number;
  /**
   * CPU time of the main thread per run, in microseconds, including the command itself. Absent where it can't
   * be read.
   */
  readonly mainCpuMicrosPerRun?: number;
  readonly eventLoop: LoopFigures;
  readonly rssMb: number;
  readonly peakRssMb: number;
}

/** The start and the end of a run are one record each. */
const recordsPerRun = 2;
const mebibyte = 1_048_576;

/** Measures this process while it records a load. */
export class Meter {
  recorded = 0;
  readonly #client: Client;
  readonly #loop = new LoopWatch({ measuresBlocks: false });
  #startedAt = 0;
  #endedAt: number | undefined;
  #cpuAtStart: number | undefined;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Starts measuring time and CPU time. */
  start(): void {
    this.#loop.start();
    this.#startedAt = performance.now();
    this.#cpuAtStart = mainCpuMicros();
  }

  /** Stops measuring time. The client's counters continue to change. */
  stop(): void {
    this.#endedAt = performance.now();
    this.#loop.stop();
  }

  get figures(): Figures {
    const { delivered, pending, accepted, lost, bytes } = this.#client.stats();
    const seconds = ((this.#endedAt ?? performance.now()) - this.#startedAt) / 1_000;
    const acknowledged = Math.floor(delivered / recordsPerRun);
    const pendingRuns = Math.ceil(pending / recordsPerRun);
    const cpu = mainCpuMicros();
    const cpuSpent = (cpu ?? Number.NaN) - (this.#cpuAtStart ?? Number.NaN);
    return {
      recorded: this.recorded,
      acknowledged,
      pending: pendingRuns,
      dropped: Math.ceil((accepted - delivered - pending) / recordsPerRun),
      lostRecords: Object.fromEntries(Object.entries(lost).filter(([, records]) => records > 0)),
      seconds,
      runsPerSecond: rate(acknowledged, seconds),
      megabytesPerSecond: rate(bytes.sent / 1e6, seconds),
      ...(Number.isNaN(cpuSpent) ? {} : { mainCpuMicrosPerRun: rate(cpuSpent, this.recorded) }),
      eventLoop: this.#loop.figures,
      rssMb: process.memoryUsage.rss() / mebibyte,
      peakRssMb: process.resourceUsage().maxRSS / 1_024,
    };
  }
}

const rate = (amount: number, divisor: number): number => (divisor === 0 ? 0 : amount / divisor);

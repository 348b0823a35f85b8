import type { Client, ClientStats } from "millrace";
import { EventLoopMonitor } from "./event-loop-monitor.ts";
import type { EventLoopFigures } from "./event-loop-monitor.ts";
import { readMainCpuMicros } from "./main-cpu.ts";

/** Measurements since a load began. `recorded`, `acknowledged`, `pending` and `dropped` are numbers of runs. */
export interface LoadFigures {
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
   * CPU time of the main thread per run, in microseconds, including that of the command `bench` itself. Absent
   * where it can't be read.
   */
  readonly mainCpuMicrosPerRun?: number;
  readonly eventLoop: EventLoopFigures;
  readonly rssMb: number;
  readonly peakRssMb: number;
}

/** A run is sent as two records: its start and its end. */
const recordsPerRun = 2;
const bytesPerMebibyte = 1_048_576;

/** Measures this process while it records a load. */
export class Meter {
  recordedRunCount = 0;
  readonly #client: Client;
  readonly #eventLoopMonitor = new EventLoopMonitor({ measuresBlocks: false });
  #startedAt = 0;
  #endedAt: number | undefined;
  #cpuMicrosAtStart: number | undefined;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Starts measuring time and CPU time. */
  start(): void {
    this.#eventLoopMonitor.start();
    this.#startedAt = performance.now();
    this.#cpuMicrosAtStart = readMainCpuMicros();
  }

  /** Stops measuring time. `figures` still reads the current numbers of runs from the client. */
  stop(): void {
    this.#endedAt = performance.now();
    this.#eventLoopMonitor.stop();
  }

  get figures(): LoadFigures {
    const { delivered, pending, accepted, lost, bytes } = this.#client.stats();
    const seconds = ((this.#endedAt ?? performance.now()) - this.#startedAt) / 1_000;
    const acknowledged = Math.floor(delivered / recordsPerRun);
    const pendingRuns = Math.ceil(pending / recordsPerRun);
    const cpuMicros = readMainCpuMicros();
    const cpuSpentMicros = (cpuMicros ?? Number.NaN) - (this.#cpuMicrosAtStart ?? Number.NaN);
    return {
      recorded: this.recordedRunCount,
      acknowledged,
      pending: pendingRuns,
      dropped: Math.ceil((accepted - delivered - pending) / recordsPerRun),
      lostRecords: Object.fromEntries(Object.entries(lost).filter(([, records]) => records > 0)),
      seconds,
      runsPerSecond: divideOrZero(acknowledged, seconds),
      megabytesPerSecond: divideOrZero(bytes.sent / 1e6, seconds),
      ...(Number.isNaN(cpuSpentMicros)
        ? {}
        : { mainCpuMicrosPerRun: divideOrZero(cpuSpentMicros, this.recordedRunCount) }),
      eventLoop: this.#eventLoopMonitor.figures,
      rssMb: process.memoryUsage.rss() / bytesPerMebibyte,
      peakRssMb: process.resourceUsage().maxRSS / 1_024,
    };
  }
}

const divideOrZero = (amount: number, divisor: number): number =>
  divisor === 0 ? 0 : amount / divisor;

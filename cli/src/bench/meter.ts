import type { Client, ClientStats } from "millrace";
import { LoopWatch } from "./loop-watch.ts";
import type { LoopFigures } from "./loop-watch.ts";
import { mainCpuMicros } from "./main-cpu.ts";

/** What a load was like so far; runs, unless the name says otherwise. */
export interface Figures {
  readonly recorded: number;
  readonly acknowledged: number;
  readonly pending: number;
  /** Given up, for whatever reason. */
  readonly dropped: number;
  /** Why, in records: a start is one, an end is one. */
  readonly lostRecords: Partial<ClientStats["lost"]>;
  readonly seconds: number;
  /** Acknowledged ones. */
  readonly runsPerSecond: number;
  /** Of request bodies, as sent. */
  readonly megabytesPerSecond: number;
  /** Of the thread that records, the command itself included; absent where nobody counts it. */
  readonly mainCpuMicrosPerRun?: number;
  readonly eventLoop: LoopFigures;
  readonly rssMb: number;
  readonly peakRssMb: number;
}

/** A start and an end. */
const recordsPerRun = 2;
const mebibyte = 1_048_576;

/** Measures this process while it records. */
export class Meter {
  recorded = 0;
  readonly #client: Client;
  readonly #loop = new LoopWatch({ holds: false });
  #beganAt = 0;
  #endedAt: number | undefined;
  #cpuBefore: number | undefined;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Time and CPU count from here on. */
  start(): void {
    this.#loop.start();
    this.#beganAt = performance.now();
    this.#cpuBefore = mainCpuMicros();
  }

  /** The clock stands; what the client counts goes on. */
  stop(): void {
    this.#endedAt = performance.now();
    this.#loop.stop();
  }

  get figures(): Figures {
    const { delivered, pending, accepted, lost, bytes } = this.#client.stats();
    const seconds = ((this.#endedAt ?? performance.now()) - this.#beganAt) / 1_000;
    const acknowledged = Math.floor(delivered / recordsPerRun);
    const waiting = Math.ceil(pending / recordsPerRun);
    const cpu = mainCpuMicros();
    const cpuSpent = (cpu ?? Number.NaN) - (this.#cpuBefore ?? Number.NaN);
    return {
      recorded: this.recorded,
      acknowledged,
      pending: waiting,
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

const rate = (amount: number, per: number): number => (per === 0 ? 0 : amount / per);

import { monitorEventLoopDelay } from "node:perf_hooks";
import { readMainCpuMicros } from "./main-cpu.ts";

/** Measurements of the event loop of the main thread. */
export interface EventLoopFigures {
  /**
   * Delay of event-loop iterations behind their schedule, in milliseconds of wall-clock time. This includes
   * delays that other processes on the machine cause.
   */
  readonly delayMsP50: number;
  readonly delayMsP99: number;
  readonly delayMsMax: number;
  /**
   * The longest event-loop block: the most CPU time, in milliseconds, that the main thread used between two ticks of a
   * 1 ms timer. CPU time excludes the load of other processes. Absent if the CPU time of a thread can't be read, or if
   * blocks were not measured.
   */
  readonly longestBlockMs?: number;
}

const tickMs = 1;

/** Measures the event loop of the main thread. */
export class EventLoopMonitor {
  readonly #measuresBlocks: boolean;
  readonly #delay = monitorEventLoopDelay({ resolution: tickMs });
  #timer: NodeJS.Timeout | undefined;
  #lastCpuMicros: number | undefined;
  #longestBlockMicros = 0;

  /**
   * With `measuresBlocks`, the monitor also measures the longest event-loop block. For this it reads the CPU time of
   * the main thread every millisecond, which takes a few percent of the thread's CPU time.
   */
  constructor({ measuresBlocks }: { readonly measuresBlocks: boolean }) {
    this.#measuresBlocks = measuresBlocks;
  }

  start(): void {
    this.#delay.enable();
    if (this.#measuresBlocks) {
      this.#lastCpuMicros = readMainCpuMicros();
      // The timer is unref'd, because measuring must not keep the process alive.
      this.#timer = setInterval(() => this.#measureBlock(), tickMs).unref();
    }
  }

  /** The measurements since `start`. */
  get figures(): EventLoopFigures {
    const blockFigures =
      this.#lastCpuMicros === undefined ? {} : { longestBlockMs: this.#longestBlockMicros / 1_000 };
    return {
      delayMsP50: this.#delay.percentile(50) / 1e6,
      delayMsP99: this.#delay.percentile(99) / 1e6,
      delayMsMax: this.#delay.max / 1e6,
      ...blockFigures,
    };
  }

  stop(): void {
    this.#delay.disable();
    clearInterval(this.#timer);
  }

  #measureBlock(): void {
    if (this.#lastCpuMicros === undefined) {
      return;
    }
    const cpuMicros = readMainCpuMicros() ?? this.#lastCpuMicros;
    this.#longestBlockMicros = Math.max(this.#longestBlockMicros, cpuMicros - this.#lastCpuMicros);
    this.#lastCpuMicros = cpuMicros;
  }
}

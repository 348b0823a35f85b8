import { monitorEventLoopDelay } from "node:perf_hooks";
import { mainCpuMicros } from "./main-cpu.ts";

/** What an event loop was like while it was watched. */
export interface LoopFigures {
  /** How much later than asked for it took its turns, by the clock: what others do on the machine is in it. */
  readonly delayMsP50: number;
  readonly delayMsP99: number;
  readonly delayMsMax: number;
  /**
   * The most CPU time that the main thread took between two turns that are a millisecond apart where
   * nothing holds it: without the machine's other work. Absent where nobody counts it, or nobody asked.
   */
  readonly longestHoldMs?: number;
}

const turnMs = 1;

/** Watches the event loop of the main thread. */
export class LoopWatch {
  readonly #hasHolds: boolean;
  readonly #delay = monitorEventLoopDelay({ resolution: turnMs });
  #timer: NodeJS.Timeout | undefined;
  #cpuMicros: number | undefined;
  #longestMicros = 0;

  /** With `holds`: what a thread has computed is asked for each millisecond, which costs the thread some percent. */
  constructor({ holds }: { readonly holds: boolean }) {
    this.#hasHolds = holds;
  }

  start(): void {
    this.#delay.enable();
    if (this.#hasHolds) {
      this.#cpuMicros = mainCpuMicros();
      // Unref'd: watching holds nobody.
      this.#timer = setInterval(() => this.#turn(), turnMs).unref();
    }
  }

  /** What was seen since the start. */
  get figures(): LoopFigures {
    const hold =
      this.#cpuMicros === undefined ? {} : { longestHoldMs: this.#longestMicros / 1_000 };
    return {
      delayMsP50: this.#delay.percentile(50) / 1e6,
      delayMsP99: this.#delay.percentile(99) / 1e6,
      delayMsMax: this.#delay.max / 1e6,
      ...hold,
    };
  }

  stop(): void {
    this.#delay.disable();
    clearInterval(this.#timer);
  }

  #turn(): void {
    if (this.#cpuMicros === undefined) {
      return;
    }
    const now = mainCpuMicros() ?? this.#cpuMicros;
    this.#longestMicros = Math.max(this.#longestMicros, now - this.#cpuMicros);
    this.#cpuMicros = now;
  }
}

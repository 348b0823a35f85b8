import { Worker } from "node:worker_threads";
import { messageOf } from "../model/errors.ts";
import { serverLimits } from "../model/options.ts";
import { toDistFileUrl } from "../storage/dist-files.ts";
import { endThread, threadOptions } from "../storage/threads.ts";
import type { ComputedMetrics } from "./metrics.ts";

/** Messages of the thread that computes metrics. */
export type MetricMessage =
  | { readonly kind: "store"; readonly computed: readonly ComputedMetrics[] }
  | { readonly kind: "failed"; readonly reason: string };

/**
 * Starts and ends the thread that computes metrics, and passes its results to the writer thread. This object belongs to
 * the main thread. The thread starts some time after the server, so that it does not delay the server's start.
 */
export class MetricThread {
  readonly #path: string;
  readonly #store: (computed: readonly ComputedMetrics[]) => Promise<unknown>;
  readonly #timer: NodeJS.Timeout;
  #worker: Worker | undefined;
  #hasWarned = false;
  #isClosing = false;

  constructor(path: string, store: (computed: readonly ComputedMetrics[]) => Promise<unknown>) {
    this.#path = path;
    this.#store = store;
    this.#timer = setTimeout(() => this.#start(), serverLimits.metricDelayMs);
    this.#timer.unref();
  }

  /** Ends the thread. Resolves once its connection is closed. */
  async close(): Promise<void> {
    this.#isClosing = true;
    clearTimeout(this.#timer);
    const worker = this.#worker;
    if (worker !== undefined) {
      await endThread(worker, "close", serverLimits.readerEndMs);
    }
  }

  #start(): void {
    const worker = new Worker(toDistFileUrl("metrics.worker.js"), {
      ...threadOptions,
      name: "millrace-metrics",
      workerData: this.#path,
    });
    this.#worker = worker;
    worker.on("message", (message: MetricMessage) => void this.#onMessage(worker, message));
    worker.on("error", (cause) => this.#warn(messageOf(cause)));
    // Without this thread, metrics are computed from the runs. The next start of the server continues.
    worker.once("exit", () => {
      this.#worker = undefined;
    });
  }

  async #onMessage(worker: Worker, message: MetricMessage): Promise<void> {
    if (message.kind === "failed") {
      this.#warn(message.reason);
      return;
    }
    try {
      await this.#store(message.computed);
      worker.postMessage({});
    } catch (cause) {
      worker.postMessage({ failure: messageOf(cause) });
    }
  }

  #warn(reason: string): void {
    // While the server closes, a refused write is expected: the next start continues where this one ended.
    if (!this.#hasWarned && !this.#isClosing) {
      this.#hasWarned = true;
      process.emitWarning(
        `the metrics can't be updated, so dashboards may be incomplete: ${reason}`,
      );
    }
  }
}

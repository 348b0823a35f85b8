import { parentPort, workerData } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import type { MetricMessage } from "./metrics/metric-thread.ts";
import type { ComputedMetrics } from "./metrics/metrics.ts";
import { MetricComputer } from "./metrics/sqlite/metric-computer.ts";
import { messageOf } from "./model/errors.ts";
import { serverLimits } from "./model/options.ts";
import { lowerPriority } from "./storage/low-priority.ts";
import { openReader } from "./storage/sqlite/open-database.ts";

// Computes the metrics that are out of date in the background, at low priority. After each step it pauses several times
// as long as the step took.

/** Length of the pause after a step, as a multiple of the step's duration. */
const pauseFactor = 3;
/** Milliseconds of the pause after a step that had nothing to do. */
const idleMs = 1_000;

if (parentPort !== null) {
  lowerPriority();
  start(parentPort, String(workerData));
}

function start(port: MessagePort, path: string): void {
  const post = (message: MetricMessage): void => port.postMessage(message);
  const db = openReader(path);
  const computer = new MetricComputer(db);
  let isClosing = false;
  let isRunning = false;
  let timer: NodeJS.Timeout | undefined;
  let onStored: ((failure: string | undefined) => void) | undefined;
  const store = (computed: readonly ComputedMetrics[]): Promise<void> =>
    new Promise((resolve, reject) => {
      onStored = (failure) => (failure === undefined ? resolve() : reject(new Error(failure)));
      post({ kind: "store", computed });
    });
  const closeThread = (): void => {
    clearTimeout(timer);
    db.close();
    port.close();
  };
  const runStep = async (): Promise<void> => {
    isRunning = true;
    const startMs = performance.now();
    let pauseMs = idleMs;
    try {
      const computed = await computer.compute(serverLimits.metricSettleMs, () => isClosing);
      if (computed.length > 0 && !isClosing) {
        await store(computed);
        pauseMs = (performance.now() - startMs) * pauseFactor;
      }
    } catch (cause) {
      // The disk may be full. Metrics that are not stored are computed from the runs, and the next step tries again.
      post({ kind: "failed", reason: messageOf(cause) });
    }
    isRunning = false;
    if (isClosing) {
      closeThread();
    } else {
      timer = setTimeout(() => void runStep(), pauseMs);
    }
  };
  port.on("message", (message: { readonly failure?: string } | "close") => {
    if (message !== "close") {
      onStored?.(message.failure);
      return;
    }
    isClosing = true;
    onStored?.("the server is closing");
    if (!isRunning) {
      closeThread();
    }
  });
  void runStep();
}

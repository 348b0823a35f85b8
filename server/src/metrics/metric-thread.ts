import { serverLimits } from "../model/options.ts";
import { BackgroundThread } from "../storage/background-thread.ts";
import type { ComputedMetrics } from "./metrics.ts";

/**
 * Starts the thread that computes metrics. Without it, each query computes them from the runs, as far as its time
 * allows.
 */
export const startMetricThread = (
  path: string,
  store: (computed: readonly ComputedMetrics[]) => Promise<unknown>,
): BackgroundThread<readonly ComputedMetrics[]> =>
  new BackgroundThread({
    file: "metrics.worker.js",
    name: "millrace-metrics",
    path,
    delayMs: serverLimits.metricDelayMs,
    write: store,
    warning: "the metrics can't be updated, so dashboards may be incomplete",
  });

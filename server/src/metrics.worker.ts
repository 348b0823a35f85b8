import type { ComputedMetrics } from "./metrics/metrics.ts";
import { MetricComputer } from "./metrics/sqlite/metric-computer.ts";
import { serverLimits } from "./model/options.ts";
import { runInBackground } from "./storage/run-in-background.ts";
import { openReader } from "./storage/sqlite/open-database.ts";

// Computes the metrics that are out of date. Until they are stored, each query counts the runs themselves instead.

runInBackground<readonly ComputedMetrics[]>(({ path, write, isClosing }) => {
  const db = openReader(path);
  const computer = new MetricComputer(db);
  return {
    runStep: async () => {
      const computed = await computer.compute(serverLimits.metricSettleMs, isClosing);
      if (computed.length === 0 || isClosing()) {
        return false;
      }
      await write(computed);
      return true;
    },
    close: () => db.close(),
  };
});

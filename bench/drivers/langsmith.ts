import { Client, RunTree } from "langsmith";
import type { ClientConfig } from "langsmith";
import { countAcknowledged } from "./acknowledged.ts";
import type { Driver, DriverInit } from "./driver.ts";

/** Number of runs between two calls of `flush()` in the mode in which the program decides when to send. */
const runsPerFlush = 500;

/** The client with its defaults. */
export const createLangsmith = ({ endpoint }: DriverInit): Driver<RunTree> =>
  createDriver(new Client({ apiUrl: endpoint, apiKey: "bench" }));

/**
 * The client with larger batches, without environment data in each run, with manual flushing, and without streamed
 * multipart bodies, which are its largest cost.
 */
export function createLangsmithTuned({ endpoint }: DriverInit): Driver<RunTree> {
  // The client reads these variables when it is created. It has no options for them.
  process.env["LANGSMITH_DISABLE_MULTIPART_STREAMING"] = "true";
  process.env["LANGSMITH_DISABLE_RUN_COMPRESSION"] = "true";
  const settings: ClientConfig = {
    apiUrl: endpoint,
    apiKey: "bench",
    batchSizeLimit: 1_000,
    traceBatchConcurrency: 20,
    omitTracedRuntimeInfo: true,
    manualFlushMode: true,
  };
  return createDriver(new Client(settings), { isManual: true });
}

function createDriver(client: Client, { isManual = false } = {}): Driver<RunTree> {
  const acknowledged = countAcknowledged();
  const flushing = new Set<Promise<void>>();
  let started = 0;
  let ended = 0;
  const send = (): void => {
    const flushed = client.flush().finally(() => flushing.delete(flushed));
    flushing.add(flushed);
  };
  return {
    start: (parent, { name, runType, inputs, metadata }) => {
      started += 1;
      const config = { name, run_type: runType, inputs, metadata };
      const run =
        parent === undefined
          ? new RunTree({ ...config, client, project_name: "bench", tracingEnabled: true })
          : parent.createChild(config);
      void run.postRun();
      return run;
    },
    end: (run, { outputs }) => {
      void run.end(outputs);
      void run.patchRun();
      ended += 1;
      if (isManual && ended % runsPerFlush === 0) {
        // The client queues runs of this turn of the event loop some microtasks later.
        setImmediate(send);
      }
    },
    id: (run) => run.id,
    stats: () => ({ pending: started - acknowledged(), lost: 0 }),
    flush: async () => {
      if (isManual) {
        send();
        await Promise.all(flushing);
      } else {
        await client.awaitPendingTraceBatches();
      }
    },
    close: () => Promise.resolve(),
  };
}

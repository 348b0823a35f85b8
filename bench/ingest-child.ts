// Measures the SDK with its defaults against a server. ingest.bench.ts starts it and receives an IngestResult from it.
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { loadDriver } from "./drivers/index.ts";
import { readCpuMicros } from "./process-figures.ts";
import { Trees } from "./trees.ts";
import { runsPerTree } from "./workload.ts";
import { workloads } from "./workloads.ts";
import type { WorkloadName } from "./workloads.ts";

export interface IngestRequest {
  readonly endpoint: string;
  readonly serverPid: number;
  readonly workload: WorkloadName;
  readonly warmupRuns: number;
  readonly runs: number;
}

export interface IngestResult {
  /** Time from the first call until the server acknowledged the last run. It acknowledges a run once it is stored. */
  readonly seconds: number;
  /** CPU time per run, of all threads of the client's and of the server's process. */
  readonly cpuMicros: number;
  readonly serverMicros: number;
  readonly lost: number;
  /** The ids of all runs, in the order of their payloads. */
  readonly ids: readonly string[];
}

/** Maximum amount of unacknowledged runs, as bytes of JSON and as a count. */
const maxPendingBytes = 41_943_040;
const maxPendingRuns = 5_000;
/**
 * Wait between two checks when that maximum is reached, milliseconds. The server stores about a hundred runs in this
 * time.
 */
const waitMs = 5;

// `on`, not `once`: the listener keeps the process alive until it has responded.
process.on("message", (request: IngestRequest) => {
  // A rejection ends the process, which the parent process detects.
  void respond(request);
});

async function respond({
  endpoint,
  serverPid,
  workload,
  warmupRuns,
  runs,
}: IngestRequest): Promise<void> {
  const { runBytes, createPayloads } = workloads[workload];
  const driver = (await loadDriver("millrace"))({ endpoint, requestRuns: 100 });
  const trees = new Trees(driver, createPayloads());
  const maxPending = Math.min(maxPendingRuns, Math.floor(maxPendingBytes / runBytes));
  const record = async (count: number): Promise<void> => {
    for (let recorded = 0; recorded < count; recorded += runsPerTree) {
      trees.record();
      await nextTurn();
      while (driver.stats().pending > maxPending) {
        await sleep(waitMs);
      }
    }
    await driver.flush();
  };
  await record(warmupRuns);
  const cpuBefore = process.cpuUsage();
  const serverBefore = readCpuMicros(serverPid);
  const startedAt = performance.now();
  await record(runs);
  const seconds = (performance.now() - startedAt) / 1_000;
  const { user, system } = process.cpuUsage(cpuBefore);
  const serverMicros = (readCpuMicros(serverPid) - serverBefore) / runs;
  const { lost } = driver.stats();
  const stored = await countRuns(endpoint);
  if (lost === 0 && stored !== trees.ids.length) {
    throw new Error(
      `${workload}: the server has ${stored} of ${trees.ids.length} acknowledged runs`,
    );
  }
  const result = { seconds, cpuMicros: (user + system) / runs, serverMicros, lost, ids: trees.ids };
  await driver.close();
  // Disconnect only after the message is sent: its ids take a megabyte.
  process.send?.(result satisfies IngestResult, () => process.disconnect());
}

/** The number of runs on the server. */
async function countRuns(endpoint: string): Promise<number> {
  const sessions = (await (await fetch(`${endpoint}/sessions?name=bench`)).json()) as readonly {
    readonly id: string;
  }[];
  const body = JSON.stringify({ session: sessions.map(({ id }) => id) });
  const response = await fetch(`${endpoint}/runs/stats`, { method: "POST", body });
  return ((await response.json()) as { readonly run_count: number }).run_count;
}

// The SDK with its defaults against a server: started by ingest.bench.ts, answers with an IngestCost.
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { loadDriver } from "./drivers/index.ts";
import { cpuMicrosOf } from "./process-figures.ts";
import { Trees } from "./trees.ts";
import { runsPerTree } from "./workload.ts";
import { workloads } from "./workloads.ts";
import type { WorkloadName } from "./workloads.ts";

export interface IngestOrder {
  readonly endpoint: string;
  readonly serverPid: number;
  readonly workload: WorkloadName;
  readonly warmupRuns: number;
  readonly runs: number;
}

export interface IngestCost {
  /** From the first call until the server has acknowledged the last run, which it does once it is stored. */
  readonly seconds: number;
  /** Of a run: all threads of the process. */
  readonly cpuMicros: number;
  readonly serverMicros: number;
  readonly lost: number;
  /** Of all runs, in the order of their payloads. */
  readonly ids: readonly string[];
}

/** How far the program may run ahead of the server. */
const aheadBytes = 41_943_040;
const aheadRuns = 5_000;
/** How long it waits then: the server takes a hundred runs meanwhile. */
const waitMs = 5;

// Not once: a listener keeps the process until it has answered.
process.on("message", (order: IngestOrder) => {
  // A rejection ends the process, and the parent sees that.
  void answer(order);
});

async function answer({
  endpoint,
  serverPid,
  workload,
  warmupRuns,
  runs,
}: IngestOrder): Promise<void> {
  const { runBytes, createPayloads } = workloads[workload];
  const driver = (await loadDriver("millrace"))({ endpoint, requestRuns: 100 });
  const trees = new Trees(driver, createPayloads());
  const ahead = Math.min(aheadRuns, Math.floor(aheadBytes / runBytes));
  const record = async (count: number): Promise<void> => {
    for (let recorded = 0; recorded < count; recorded += runsPerTree) {
      trees.record();
      await nextTurn();
      while (driver.stats().pending > ahead) {
        await sleep(waitMs);
      }
    }
    await driver.flush();
  };
  await record(warmupRuns);
  const cpu = process.cpuUsage();
  const server = cpuMicrosOf(serverPid);
  const began = performance.now();
  await record(runs);
  const seconds = (performance.now() - began) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  const serverMicros = (cpuMicrosOf(serverPid) - server) / runs;
  const { lost } = driver.stats();
  const found = await countAt(endpoint);
  if (lost === 0 && found !== trees.ids.length) {
    throw new Error(
      `${workload}: of ${trees.ids.length} acknowledged runs the server has ${found}`,
    );
  }
  const cost = { seconds, cpuMicros: (user + system) / runs, serverMicros, lost, ids: trees.ids };
  await driver.close();
  // All of it is on its way before the channel goes: the ids are a megabyte.
  process.send?.(cost satisfies IngestCost, () => process.disconnect());
}

/** How many runs the server answers with. */
async function countAt(endpoint: string): Promise<number> {
  const sessions = (await (await fetch(`${endpoint}/sessions?name=bench`)).json()) as readonly {
    readonly id: string;
  }[];
  const body = JSON.stringify({ session: sessions.map(({ id }) => id) });
  const response = await fetch(`${endpoint}/runs/stats`, { method: "POST", body });
  return ((await response.json()) as { readonly run_count: number }).run_count;
}

// Records runs with the SDK's defaults against one of several servers. cluster.bench.ts starts it, and sends it one
// ClusterRequest after the other.
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { loadDriver } from "./drivers/index.ts";
import type { Driver } from "./drivers/driver.ts";
import { Trees } from "./trees.ts";
import { runsPerTree } from "./workload.ts";
import { workloads } from "./workloads.ts";
import type { WorkloadName } from "./workloads.ts";

export interface ClusterRequest {
  readonly endpoint: string;
  readonly workload: WorkloadName;
  /** Number of runs to record now. The reply is sent when the server has acknowledged them all. */
  readonly runs: number;
}

export interface ClusterReply {
  /** Numbers of runs that were recorded and lost since the start. */
  readonly recorded: number;
  readonly lost: number;
}

/** Maximum number of unacknowledged runs, so that the queue of the SDK never overflows. */
const maxPendingRuns = 5_000;
/** Wait between two checks when that maximum is reached, milliseconds. */
const waitMs = 5;

let recording: { readonly driver: Driver; readonly trees: Trees } | undefined;

// `on`, not `once`: the listener keeps the process alive between the requests.
process.on("message", (request: ClusterRequest) => {
  // A rejection ends the process, which the parent process detects.
  void respond(request);
});

async function respond({ endpoint, workload, runs }: ClusterRequest): Promise<void> {
  recording ??= await startRecording(endpoint, workload);
  const { driver, trees } = recording;
  for (let recorded = 0; recorded < runs; recorded += runsPerTree) {
    trees.record();
    await nextTurn();
    while (driver.stats().pending > maxPendingRuns) {
      await sleep(waitMs);
    }
  }
  await driver.flush();
  process.send?.({
    recorded: trees.ids.length,
    lost: driver.stats().lost,
  } satisfies ClusterReply);
}

async function startRecording(
  endpoint: string,
  workload: WorkloadName,
): Promise<NonNullable<typeof recording>> {
  const driver = (await loadDriver("millrace"))({ endpoint, requestRuns: 100 });
  return { driver, trees: new Trees(driver, workloads[workload].createPayloads()) };
}

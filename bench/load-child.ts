// One client under one kind of load, one process: started by load.ts, answers with what it saw.
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { LoopWatch } from "../cli/src/bench/loop-watch.ts";
import type { LoopFigures } from "../cli/src/bench/loop-watch.ts";
import type { Driver } from "./drivers/driver.ts";
import { loadDriver } from "./drivers/index.ts";
import { mainNanos, missingAt, peakRssMb } from "./process-figures.ts";
import { Trees } from "./trees.ts";
import { runsPerTree } from "./workload.ts";
import type { Payload } from "./workload.ts";
import { workloads } from "./workloads.ts";
import type { WorkloadName } from "./workloads.ts";

export type LoadOrder = { readonly driver: string; readonly endpoint: string } & (
  | { readonly kind: "burst"; readonly workload: WorkloadName; readonly runs: number }
  | {
      readonly kind: "paced";
      readonly workload: WorkloadName;
      readonly runsPerSecond: number;
      readonly seconds: number;
    }
  | { readonly kind: "waiting"; readonly levels: readonly number[] }
);

export interface BurstFigures {
  readonly seconds: number;
  readonly missing: number;
  readonly peakRssMb: number;
}

export interface PacedFigures extends LoopFigures {
  /** CPU time of the very first turn that records: code that is loaded, memory that is new. */
  readonly firstTurnMs: number;
  readonly missing: number;
  readonly peakRssMb: number;
}

/** Main-thread CPU of a start and an end, in microseconds, at each number of runs that wait. */
export type WaitingFigures = readonly number[];

const requestRuns = 40;
/** Runs over which one figure of `waiting` is taken. */
const sampleRuns = 1_000;
const pacedTickMs = 10;
/** Recorded before anybody watches: a service that runs is warm. The first turn has a figure of its own. */
const warmupSeconds = 1;

process.once("message", (order: LoadOrder) => {
  // A rejection ends the process, and the parent sees that.
  void answer(order);
});

async function answer(order: LoadOrder): Promise<void> {
  const createDriver = await loadDriver(order.driver);
  const { endpoint } = order;
  const driver = createDriver({ endpoint, requestRuns, roomy: order.kind === "waiting" });
  process.send?.(await measure(driver, order));
  // What still waits is not wanted.
  process.exit();
}

function measure(driver: Driver, order: LoadOrder): Promise<unknown> {
  switch (order.kind) {
    case "burst":
      return burst(driver, order);
    case "paced":
      return paced(driver, order);
    case "waiting":
      return waiting(driver, order.levels);
  }
}

async function burst(
  driver: Driver,
  { endpoint, workload, runs }: LoadOrder & { readonly kind: "burst" },
): Promise<BurstFigures> {
  const trees = new Trees(driver, workloads[workload].createPayloads());
  const began = performance.now();
  for (let recorded = 0; recorded < runs; recorded += runsPerTree) {
    trees.record();
    await nextTurn();
  }
  await driver.flush();
  const seconds = (performance.now() - began) / 1_000;
  return { seconds, missing: await missingAt(endpoint, trees.ids), peakRssMb: peakRssMb() };
}

async function paced(
  driver: Driver,
  { endpoint, workload, runsPerSecond, seconds }: LoadOrder & { readonly kind: "paced" },
): Promise<PacedFigures> {
  const trees = new Trees(driver, workloads[workload].createPayloads());
  const before = mainNanos();
  trees.record();
  await nextTurn();
  const firstTurnMs = (mainNanos() - before) / 1e6;
  const pace = async (lasting: number): Promise<void> => {
    const began = performance.now();
    for (let recorded = 0; recorded < runsPerSecond * lasting;) {
      const due = ((performance.now() - began) / 1_000) * runsPerSecond;
      for (; recorded < due; recorded += runsPerTree) {
        trees.record();
        await nextTurn();
      }
      await sleep(pacedTickMs);
    }
  };
  await pace(warmupSeconds);
  const watch = new LoopWatch({ holds: true });
  watch.start();
  await pace(seconds);
  watch.stop();
  const { figures } = watch;
  await driver.flush();
  const missing = await missingAt(endpoint, trees.ids);
  return { ...figures, firstTurnMs, missing, peakRssMb: peakRssMb() };
}

async function waiting(driver: Driver, levels: readonly number[]): Promise<WaitingFigures> {
  const small: Payload = {
    name: "step",
    runType: "chain",
    inputs: { question: "yes or no" },
    outputs: { answer: "yes" },
    metadata: {},
  };
  const figures: number[] = [];
  const trees = new Trees(driver, [small]);
  const recordUntil = async (runs: number): Promise<void> => {
    while (trees.ids.length < runs) {
      trees.record();
      await nextTurn();
    }
  };
  for (const level of levels) {
    await recordUntil(level - sampleRuns);
    const before = mainNanos();
    await recordUntil(level);
    figures.push((mainNanos() - before) / 1_000 / sampleRuns);
  }
  return figures;
}

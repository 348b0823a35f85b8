// Measures one client under one kind of load in a separate process. load.ts starts it and receives the figures from it.
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { EventLoopMonitor } from "../cli/src/bench/event-loop-monitor.ts";
import type { EventLoopFigures } from "../cli/src/bench/event-loop-monitor.ts";
import type { Driver } from "./drivers/driver.ts";
import { loadDriver } from "./drivers/index.ts";
import { readMainNanos, countMissing, readPeakRssMb } from "./process-figures.ts";
import { Trees } from "./trees.ts";
import { runsPerTree } from "./workload.ts";
import type { Payload } from "./workload.ts";
import { workloads } from "./workloads.ts";
import type { WorkloadName } from "./workloads.ts";

export type LoadRequest = { readonly driver: string; readonly endpoint: string } & (
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

export interface PacedFigures extends EventLoopFigures {
  /** CPU time of the first turn that records. It includes loading code and allocating memory. */
  readonly firstTurnMs: number;
  readonly missing: number;
  readonly peakRssMb: number;
}

/** Main-thread CPU time of a start and an end, microseconds, for each number of waiting runs. */
export type BacklogFigures = readonly number[];

const requestRuns = 40;
/** Number of runs over which one figure of `waiting` is measured. */
const sampleRuns = 1_000;
const pacedTickMs = 10;
/**
 * Duration of recording before the measurement, because a running service is warmed up. The first turn is measured
 * separately.
 */
const warmupSeconds = 1;

process.once("message", (request: LoadRequest) => {
  // A rejection ends the process, which the parent process detects.
  void respond(request);
});

async function respond(request: LoadRequest): Promise<void> {
  const createDriver = await loadDriver(request.driver);
  const { endpoint } = request;
  const driver = createDriver({ endpoint, requestRuns, hasLargeQueue: request.kind === "waiting" });
  process.send?.(await measure(driver, request));
  // Exit at once: the runs that still wait need not be delivered.
  process.exit();
}

function measure(driver: Driver, request: LoadRequest): Promise<unknown> {
  switch (request.kind) {
    case "burst":
      return measureBurst(driver, request);
    case "paced":
      return measurePaced(driver, request);
    case "waiting":
      return measureWaiting(driver, request.levels);
  }
}

async function measureBurst(
  driver: Driver,
  { endpoint, workload, runs }: LoadRequest & { readonly kind: "burst" },
): Promise<BurstFigures> {
  const trees = new Trees(driver, workloads[workload].createPayloads());
  const startedAt = performance.now();
  for (let recorded = 0; recorded < runs; recorded += runsPerTree) {
    trees.record();
    await nextTurn();
  }
  await driver.flush();
  const seconds = (performance.now() - startedAt) / 1_000;
  return { seconds, missing: await countMissing(endpoint, trees.ids), peakRssMb: readPeakRssMb() };
}

async function measurePaced(
  driver: Driver,
  { endpoint, workload, runsPerSecond, seconds }: LoadRequest & { readonly kind: "paced" },
): Promise<PacedFigures> {
  const trees = new Trees(driver, workloads[workload].createPayloads());
  const nanosBefore = readMainNanos();
  trees.record();
  await nextTurn();
  const firstTurnMs = (readMainNanos() - nanosBefore) / 1e6;
  const recordSteadily = async (durationSeconds: number): Promise<void> => {
    const startedAt = performance.now();
    for (let recorded = 0; recorded < runsPerSecond * durationSeconds;) {
      const due = ((performance.now() - startedAt) / 1_000) * runsPerSecond;
      for (; recorded < due; recorded += runsPerTree) {
        trees.record();
        await nextTurn();
      }
      await sleep(pacedTickMs);
    }
  };
  await recordSteadily(warmupSeconds);
  const watch = new EventLoopMonitor({ measuresBlocks: true });
  watch.start();
  await recordSteadily(seconds);
  watch.stop();
  const { figures } = watch;
  await driver.flush();
  const missing = await countMissing(endpoint, trees.ids);
  return { ...figures, firstTurnMs, missing, peakRssMb: readPeakRssMb() };
}

async function measureWaiting(driver: Driver, levels: readonly number[]): Promise<BacklogFigures> {
  const smallPayload: Payload = {
    name: "step",
    runType: "chain",
    inputs: { question: "yes or no" },
    outputs: { answer: "yes" },
    metadata: {},
  };
  const figures: number[] = [];
  const trees = new Trees(driver, [smallPayload]);
  const recordUntil = async (runs: number): Promise<void> => {
    while (trees.ids.length < runs) {
      trees.record();
      await nextTurn();
    }
  };
  for (const level of levels) {
    await recordUntil(level - sampleRuns);
    const nanosBefore = readMainNanos();
    await recordUntil(level);
    figures.push((readMainNanos() - nanosBefore) / 1_000 / sampleRuns);
  }
  return figures;
}

// Measures one client with one workload in a separate process. deliver.ts starts it and receives a Measurement from it.
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import type { CallTimes } from "./call-times.ts";
import type { Driver } from "./drivers/driver.ts";
import { loadDriver } from "./drivers/index.ts";
import { querySink, readMainNanos, countMissing, readPeakRssMb } from "./process-figures.ts";
import { Trees } from "./trees.ts";
import { runsPerTree } from "./workload.ts";
import { workloads } from "./workloads.ts";
import type { WorkloadName } from "./workloads.ts";

/** The request from deliver.ts: which client to measure, and with which workload. */
export interface MeasurementRequest {
  readonly driver: string;
  readonly workload: WorkloadName;
  /** Address of the sink. */
  readonly endpoint: string;
  /** Minimum number of trees for the warm-up and for the measurement. Each also takes at least `minMs`. */
  readonly warmupTrees: number;
  readonly trees: number;
  /** Shortest duration of the warm-up and of the measurement, milliseconds. */
  readonly minMs: number;
}

export interface Measurement {
  /** CPU time per run of the main thread and of the whole process, including the harness. */
  readonly mainMicros: number;
  readonly processMicros: number;
  /** Rate from the first call to the last acknowledgement by the server. */
  readonly runsPerSecond: number;
  readonly peakRssMb: number;
  /** The longest duration of one call that starts or ends a run. */
  readonly longestCallMs: number;
  /** 50th and 99th percentile of the calls' durations. */
  readonly callMicrosP50: number;
  readonly callMicrosP99: number;
  readonly wireBytesPerRun: number;
  /**
   * Including the warm-up: runs that the client reported as lost, runs that the sink did not receive whole, and all
   * runs.
   */
  readonly lost: number;
  readonly missing: number;
  readonly recorded: number;
}

/** Largest request that the server accepts (`size_limit_bytes`), and the maximum number of runs in one. */
const requestBytes = 20_971_520;
const requestRuns = 100;
/**
 * Maximum amount of unacknowledged runs, as bytes of JSON and as a count, for all clients alike. Beyond it the harness
 * sleeps, which costs no CPU time, until the client has caught up.
 */
const maxPendingBytes = 41_943_040;
const maxPendingRuns = 5_000;
/** `stats()` is called after this many bytes of recorded JSON, and at most once for each tree. */
const checkIntervalBytes = 524_288;
const pauseMs = 1;
/**
 * If the number of pending runs does not change for this time, they count as dropped. Every client sends an incomplete
 * batch sooner: OpenTelemetry waits five seconds.
 */
const maxSilenceMs = 8_000;

process.once("message", (request: MeasurementRequest) => {
  // A rejection ends the process, which the parent process detects.
  void respond(request);
});

async function respond(request: MeasurementRequest): Promise<void> {
  process.send?.(await measure(request));
  process.disconnect();
}

async function measure(request: MeasurementRequest): Promise<Measurement> {
  const { runBytes } = workloads[request.workload];
  const createDriver = await loadDriver(request.driver);
  const driver = createDriver({
    endpoint: request.endpoint,
    requestRuns: Math.min(requestRuns, Math.floor(requestBytes / runBytes)),
  });
  const load = new Load(driver, request);
  const warmupTrees = await load.run(request.warmupTrees);
  load.calls.clear();
  // Check the warm-up's runs now, so that their ids are not in memory while the client is measured.
  const missingBefore = await countMissing(request.endpoint, load.takeIds());

  const cpuBefore = process.cpuUsage();
  const mainBefore = readMainNanos();
  const startedAt = performance.now();
  const trees = await load.run(request.trees);
  const elapsedMs = performance.now() - startedAt;
  const mainSpentNanos = readMainNanos() - mainBefore;
  const { user, system } = process.cpuUsage(cpuBefore);

  const peakMb = readPeakRssMb();
  const { lost } = driver.stats();
  await driver.close();
  const { bytes, runs, missing } = await querySink(request.endpoint, load.takeIds());
  const count = trees * runsPerTree;
  return {
    mainMicros: mainSpentNanos / 1_000 / count,
    processMicros: (user + system) / count,
    runsPerSecond: (count / elapsedMs) * 1_000,
    peakRssMb: peakMb,
    longestCallMs: load.calls.longestMs,
    callMicrosP50: load.calls.quantileMicros(0.5),
    callMicrosP99: load.calls.quantileMicros(0.99),
    wireBytesPerRun: runs === 0 ? 0 : bytes / runs,
    lost,
    missing: missingBefore + missing,
    recorded: (warmupTrees + trees) * runsPerTree,
  };
}

/** The traced program: it records trees of runs, one tree in each turn of the event loop. */
class Load {
  readonly #trees: Trees;
  readonly #driver: Driver;
  readonly #maxPending: number;
  readonly #treesBetweenChecks: number;
  readonly #minMs: number;
  #abandoned = 0;

  constructor(driver: Driver, { workload, minMs }: MeasurementRequest) {
    const { runBytes, createPayloads } = workloads[workload];
    this.#driver = driver;
    this.#minMs = minMs;
    this.#trees = new Trees(driver, createPayloads());
    this.#maxPending =
      driver.maxUnacknowledgedRuns ??
      Math.min(maxPendingRuns, Math.floor(maxPendingBytes / runBytes));
    this.#treesBetweenChecks = Math.ceil(checkIntervalBytes / runBytes / runsPerTree);
  }

  get calls(): CallTimes {
    return this.#trees.calls;
  }

  /** The ids of the runs that were recorded since the previous call. */
  takeIds(): readonly string[] {
    return this.#trees.ids.splice(0);
  }

  /**
   * Records `trees` trees and waits for the server's last response, and repeats this for `minMs`. Returns the total
   * number of trees.
   */
  async run(trees: number): Promise<number> {
    const until = performance.now() + this.#minMs;
    let recorded = 0;
    do {
      await this.#recordPass(trees);
      recorded += trees;
    } while (performance.now() < until);
    return recorded;
  }

  async #recordPass(trees: number): Promise<void> {
    for (let tree = 1; tree <= trees; tree++) {
      this.#trees.record();
      await nextTurn();
      if (tree % this.#treesBetweenChecks === 0) {
        await this.#waitUntilCaughtUp();
      }
    }
    await this.#driver.flush();
  }

  /** Waits until few enough runs are pending. Runs that the client dropped without reporting it are not waited for. */
  async #waitUntilCaughtUp(): Promise<void> {
    let lastPending = Number.NaN;
    let unchangedSince = performance.now();
    for (;;) {
      const pending = this.#driver.stats().pending - this.#abandoned;
      if (pending <= this.#maxPending) {
        return;
      }
      if (pending !== lastPending) {
        lastPending = pending;
        unchangedSince = performance.now();
      } else if (performance.now() - unchangedSince > maxSilenceMs) {
        this.#abandoned += pending;
        return;
      }
      await sleep(pauseMs);
    }
  }
}

// One client, one size, one process: started by deliver.ts, answers with a Measurement.
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import type { CallTimes } from "./call-times.ts";
import type { Driver } from "./drivers/driver.ts";
import { loadDriver } from "./drivers/index.ts";
import { askSink, mainNanos, missingAt, peakRssMb } from "./process-figures.ts";
import { Trees } from "./trees.ts";
import { runsPerTree } from "./workload.ts";
import { workloads } from "./workloads.ts";
import type { WorkloadName } from "./workloads.ts";

/** What to measure. */
export interface Order {
  readonly driver: string;
  readonly workload: WorkloadName;
  /** Address of the sink. */
  readonly endpoint: string;
  /** Both at least so many, and for {@link leastMs} at least. */
  readonly warmupTrees: number;
  readonly trees: number;
}

export interface Measurement {
  /** Time on a CPU, per run, the harness's own included. */
  readonly mainMicros: number;
  readonly processMicros: number;
  /** From the first call to the last acknowledgement. */
  readonly runsPerSecond: number;
  readonly peakRssMb: number;
  /** The longest that one start or end held the caller. */
  readonly longestCallMs: number;
  /** What half of all calls, and 99 of 100, stayed under. */
  readonly callMicrosP50: number;
  readonly callMicrosP99: number;
  readonly wireBytesPerRun: number;
  /** Of all that were recorded, the warm-up's included: runs that the client gave up, and runs that the sink did not see. */
  readonly lost: number;
  readonly missing: number;
  readonly recorded: number;
}

/** The wire's limit of a request (`size_limit_bytes`), and the most runs in one. */
const requestBytes = 20_971_520;
const requestRuns = 100;
/**
 * How long a warm-up takes, and a measurement, however many runs that is: compilers need time, not runs, and what happens
 * now and then, as a collection of garbage does, is to weigh the same for all clients.
 */
const leastMs = 1_000;
/**
 * How far the program may run ahead of the server: this much JSON and this many runs, for every
 * client alike. Beyond it the harness sleeps, which costs no CPU, until the client has caught up.
 */
const aheadBytes = 41_943_040;
const aheadRuns = 5_000;
/** `stats()` is asked once per this much JSON, and once a tree at most. */
const pacingBytes = 524_288;
const pauseMs = 1;
/** Longer than any client waits before it sends an unfilled batch: OpenTelemetry waits five seconds. */
const silenceMs = 8_000;

process.once("message", (order: Order) => {
  // A rejection ends the process, and the parent sees that.
  void answer(order);
});

async function answer(order: Order): Promise<void> {
  process.send?.(await measure(order));
  process.disconnect();
}

async function measure(order: Order): Promise<Measurement> {
  const { runBytes } = workloads[order.workload];
  const createDriver = await loadDriver(order.driver);
  const driver = createDriver({
    endpoint: order.endpoint,
    requestRuns: Math.min(requestRuns, Math.floor(requestBytes / runBytes)),
  });
  const load = new Load(driver, order.workload);
  const warmupTrees = await load.run(order.warmupTrees);
  load.calls.clear();
  // At once, so that these ids are not in memory while the client is measured.
  const missingBefore = await missingAt(order.endpoint, load.takeIds());

  const cpu = process.cpuUsage();
  const main = mainNanos();
  const began = performance.now();
  const trees = await load.run(order.trees);
  const elapsedMs = performance.now() - began;
  const mainSpent = mainNanos() - main;
  const { user, system } = process.cpuUsage(cpu);

  const peak = peakRssMb();
  const { lost } = driver.stats();
  await driver.close();
  const { bytes, runs, missing } = await askSink(order.endpoint, load.takeIds());
  const count = trees * runsPerTree;
  return {
    mainMicros: mainSpent / 1_000 / count,
    processMicros: (user + system) / count,
    runsPerSecond: (count / elapsedMs) * 1_000,
    peakRssMb: peak,
    longestCallMs: load.calls.longestMs,
    callMicrosP50: load.calls.quantileMicros(0.5),
    callMicrosP99: load.calls.quantileMicros(0.99),
    wireBytesPerRun: runs === 0 ? 0 : bytes / runs,
    lost,
    missing: missingBefore + missing,
    recorded: (warmupTrees + trees) * runsPerTree,
  };
}

/** The program that is traced: trees of runs, one turn of the event loop for each tree. */
class Load {
  readonly #trees: Trees;
  readonly #driver: Driver;
  readonly #aheadLimit: number;
  readonly #treesBetweenChecks: number;
  #givenUp = 0;

  constructor(driver: Driver, workload: WorkloadName) {
    const { runBytes, createPayloads } = workloads[workload];
    this.#driver = driver;
    this.#trees = new Trees(driver, createPayloads());
    this.#aheadLimit = driver.aheadRuns ?? Math.min(aheadRuns, Math.floor(aheadBytes / runBytes));
    this.#treesBetweenChecks = Math.ceil(pacingBytes / runBytes / runsPerTree);
  }

  get calls(): CallTimes {
    return this.#trees.calls;
  }

  /** Those of the runs that were recorded since this was asked the last time. */
  takeIds(): readonly string[] {
    return this.#trees.ids.splice(0);
  }

  /** Records so many trees, again and again for {@link leastMs}, each time until the server's last answer; how many in all. */
  async run(trees: number): Promise<number> {
    const until = performance.now() + leastMs;
    let recorded = 0;
    do {
      await this.#pass(trees);
      recorded += trees;
    } while (performance.now() < until);
    return recorded;
  }

  async #pass(trees: number): Promise<void> {
    for (let tree = 1; tree <= trees; tree++) {
      this.#trees.record();
      await nextTurn();
      if (tree % this.#treesBetweenChecks === 0) {
        await this.#caughtUp();
      }
    }
    await this.#driver.flush();
  }

  /** Waits for the client; not for runs that it gave up without a word. */
  async #caughtUp(): Promise<void> {
    let last = Number.NaN;
    let since = performance.now();
    for (;;) {
      const pending = this.#driver.stats().pending - this.#givenUp;
      if (pending <= this.#aheadLimit) {
        return;
      }
      if (pending !== last) {
        last = pending;
        since = performance.now();
      } else if (performance.now() - since > silenceMs) {
        this.#givenUp += pending;
        return;
      }
      await sleep(pauseMs);
    }
  }
}

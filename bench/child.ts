// One client, one size, one process: forked by deliver.ts, answers with a Measurement.
import { readFileSync } from "node:fs";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import type { Driver } from "./drivers/driver.ts";
import { loadDriver } from "./drivers/index.ts";
import type { SinkReport } from "./sink.ts";
import { childrenPerTree, createPayloads, runsPerTree, sizes } from "./workload.ts";
import type { Payload, SizeName } from "./workload.ts";

/** What to measure. */
export interface Order {
  readonly driver: string;
  readonly size: SizeName;
  /** Address of the sink. */
  readonly endpoint: string;
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
  readonly wireBytesPerRun: number;
  /** Runs that the client gave up, and runs that the sink did not see. */
  readonly lost: number;
  readonly missing: number;
}

/** The wire's limit of a request (`size_limit_bytes`), and the most runs in one. */
const requestBytes = 20_971_520;
const requestRuns = 100;
/**
 * How far the program may run ahead of the server: this much JSON and this many runs, for every
 * client alike. Beyond it the harness sleeps, which costs no CPU, until the client has caught up.
 */
const aheadBytes = 41_943_040;
const aheadRuns = 5_000;
/** `stats()` is asked once per this much JSON, and once a tree at most. */
const pacingBytes = 524_288;
const pauseMs = 1;

process.once("message", (order: Order) => {
  // A rejection ends the process, and the parent sees that.
  void answer(order);
});

async function answer(order: Order): Promise<void> {
  process.send?.(await measure(order));
  process.disconnect();
}

async function measure(order: Order): Promise<Measurement> {
  const { runBytes } = sizes[order.size];
  const createDriver = await loadDriver(order.driver);
  const driver = createDriver({
    endpoint: order.endpoint,
    requestRuns: Math.min(requestRuns, Math.floor(requestBytes / runBytes)),
  });
  const load = new Load(driver, order.size);
  await load.run(order.warmupTrees);
  load.longestCallMs = 0;

  const cpu = process.cpuUsage();
  const main = mainNanos();
  const began = performance.now();
  await load.run(order.trees);
  const elapsedMs = performance.now() - began;
  const mainSpent = mainNanos() - main;
  const { user, system } = process.cpuUsage(cpu);

  const peakRssMb = peakRssKb() / 1_024;
  const { lost } = driver.stats();
  await driver.close();
  const { bytes, runs, missing } = await check(order, load.ids);
  const count = order.trees * runsPerTree;
  return {
    mainMicros: mainSpent / 1_000 / count,
    processMicros: (user + system) / count,
    runsPerSecond: (count / elapsedMs) * 1_000,
    peakRssMb,
    longestCallMs: load.longestCallMs,
    wireBytesPerRun: runs === 0 ? 0 : bytes / runs,
    lost,
    missing,
  };
}

/** The program that is traced: trees of runs, one turn of the event loop for each tree. */
class Load {
  readonly ids: string[] = [];
  longestCallMs = 0;
  readonly #driver: Driver;
  readonly #payloads: readonly Payload[];
  readonly #aheadLimit: number;
  readonly #treesBetweenChecks: number;
  #next = 0;

  constructor(driver: Driver, size: SizeName) {
    const { runBytes } = sizes[size];
    this.#driver = driver;
    this.#payloads = createPayloads(size);
    this.#aheadLimit = Math.min(aheadRuns, Math.floor(aheadBytes / runBytes));
    this.#treesBetweenChecks = Math.ceil(pacingBytes / runBytes / runsPerTree);
  }

  /** Records the trees and waits for the server's last answer. */
  async run(trees: number): Promise<void> {
    for (let tree = 1; tree <= trees; tree++) {
      this.#tree();
      await nextTurn();
      if (tree % this.#treesBetweenChecks === 0) {
        while (this.#driver.stats().pending > this.#aheadLimit) {
          await sleep(pauseMs);
        }
      }
    }
    await this.#driver.flush();
  }

  #tree(): void {
    const rootPayload = this.#payload();
    const root = this.#start(undefined, rootPayload);
    for (let child = 0; child < childrenPerTree; child++) {
      const payload = this.#payload();
      this.#end(this.#start(root, payload), payload);
    }
    this.#end(root, rootPayload);
  }

  #start(parent: unknown, payload: Payload): unknown {
    const before = performance.now();
    const run = this.#driver.start(parent, payload);
    this.longestCallMs = Math.max(this.longestCallMs, performance.now() - before);
    this.ids.push(this.#driver.id(run));
    return run;
  }

  #end(run: unknown, payload: Payload): void {
    const before = performance.now();
    this.#driver.end(run, payload);
    this.longestCallMs = Math.max(this.longestCallMs, performance.now() - before);
  }

  #payload(): Payload {
    const payload = this.#payloads[this.#next % this.#payloads.length];
    this.#next += 1;
    if (payload === undefined) {
      throw new RangeError("A workload without payloads");
    }
    return payload;
  }
}

/** Nanoseconds that the main thread spent on a CPU; its thread id is the process's. */
function mainNanos(): number {
  const [onCpu] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, "latin1").split(" ");
  return Number(onCpu);
}

/** Peak resident memory of the whole process. */
function peakRssKb(): number {
  const status = readFileSync("/proc/self/status", "latin1");
  return Number(/VmHWM:\s*(\d+)/.exec(status)?.[1] ?? Number.NaN);
}

async function check({ endpoint }: Order, ids: readonly string[]): Promise<SinkReport> {
  const listed = ids.filter((id) => id !== "");
  const response = await fetch(`${endpoint}/check`, { method: "POST", body: listed.join("\n") });
  return (await response.json()) as SinkReport;
}

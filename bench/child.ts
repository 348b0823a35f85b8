// One client, one size, one process: forked by deliver.ts, answers with a Measurement.
import { readFileSync } from "node:fs";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { CallTimes } from "./call-times.ts";
import type { Driver } from "./drivers/driver.ts";
import { loadDriver } from "./drivers/index.ts";
import type { SinkReport } from "./sink.ts";
import { childrenPerTree, runsPerTree } from "./workload.ts";
import type { Payload } from "./workload.ts";
import { workloads } from "./workloads.ts";
import type { WorkloadName } from "./workloads.ts";

/** What to measure. */
export interface Order {
  readonly driver: string;
  readonly workload: WorkloadName;
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
  /** What half of all calls, and 99 of 100, stayed under. */
  readonly callMicrosP50: number;
  readonly callMicrosP99: number;
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
  await load.run(order.warmupTrees);
  load.calls.clear();

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
    longestCallMs: load.calls.longestMs,
    callMicrosP50: load.calls.quantileMicros(0.5),
    callMicrosP99: load.calls.quantileMicros(0.99),
    wireBytesPerRun: runs === 0 ? 0 : bytes / runs,
    lost,
    missing,
  };
}

/** The program that is traced: trees of runs, one turn of the event loop for each tree. */
class Load {
  readonly ids: string[] = [];
  readonly calls = new CallTimes();
  readonly #driver: Driver;
  readonly #payloads: readonly Payload[];
  readonly #aheadLimit: number;
  readonly #treesBetweenChecks: number;
  #next = 0;
  #givenUp = 0;

  constructor(driver: Driver, workload: WorkloadName) {
    const { runBytes, createPayloads } = workloads[workload];
    this.#driver = driver;
    this.#payloads = createPayloads();
    this.#aheadLimit = driver.aheadRuns ?? Math.min(aheadRuns, Math.floor(aheadBytes / runBytes));
    this.#treesBetweenChecks = Math.ceil(pacingBytes / runBytes / runsPerTree);
  }

  /** Records the trees and waits for the server's last answer. */
  async run(trees: number): Promise<void> {
    for (let tree = 1; tree <= trees; tree++) {
      this.#tree();
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
    this.calls.add(performance.now() - before);
    this.ids.push(this.#driver.id(run));
    return run;
  }

  #end(run: unknown, payload: Payload): void {
    const before = performance.now();
    this.#driver.end(run, payload);
    this.calls.add(performance.now() - before);
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

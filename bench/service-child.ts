// A service that records at a steady rate, measured in a separate process. service.bench.ts starts it and receives the
// figures from it.
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Driver } from "./drivers/driver.ts";
import { loadDriver } from "./drivers/index.ts";
import { countMissing, readMainNanos } from "./process-figures.ts";
import type { Payload } from "./workload.ts";
import { workloads } from "./workloads.ts";
import type { WorkloadName } from "./workloads.ts";

/** The request from service.bench.ts: which client to measure, and with how many runs a second; 0 for an idle client. */
export interface ServiceRequest {
  readonly driver: string;
  readonly workload: WorkloadName;
  readonly endpoint: string;
  readonly runsPerSecond: number;
  readonly seconds: number;
}

export interface ServiceFigures {
  /** CPU time per second of the main thread and of all threads, milliseconds, including the harness. */
  readonly mainMs: number;
  readonly allMs: number;
  /** How often per second a thread of the process began to wait: each time is followed by a wake-up. */
  readonly waits: number;
  /** Runs that the server did not receive whole. */
  readonly missing: number;
}

const requestRuns = 40;
/**
 * The code of a running service is compiled. So the warm-up records `warmupRuns` runs, but for at most `maxWarmupMs`.
 * It is followed by `settleSeconds` at the measured rate, to which a client may adapt.
 */
const warmupRuns = 20_000;
const maxWarmupMs = 4_000;
const warmupRunsPerTurn = 20;
const settleSeconds = 3;
const warmupPauseMs = 5;
/** Least time between two turns that record. More wake-ups would cost more than the recording. */
const tickMs = 5;
/**
 * After traffic a client closes connections, and V8 collects garbage twice on threads of its own: after some 2 seconds,
 * and after some 10. Neither is part of being idle.
 */
const idleSettleMs = 16_000;

process.once("message", (request: ServiceRequest) => {
  // A rejection ends the process, which the parent process detects.
  void respond(request);
});

async function respond(request: ServiceRequest): Promise<void> {
  process.send?.(await measure(request));
  process.exit();
}

async function measure(request: ServiceRequest): Promise<ServiceFigures> {
  const createDriver = await loadDriver(request.driver);
  const driver = createDriver({ endpoint: request.endpoint, requestRuns });
  const service = new Service(driver, workloads[request.workload].createPayloads());
  await service.warmUp();
  if (request.runsPerSecond === 0) {
    await sleep(idleSettleMs);
  } else {
    await service.record(request.runsPerSecond, settleSeconds);
  }
  const waitsBefore = countWaits();
  const cpuBefore = process.cpuUsage();
  const mainBefore = readMainNanos();
  const startedAt = performance.now();
  await service.record(request.runsPerSecond, request.seconds);
  const seconds = (performance.now() - startedAt) / 1_000;
  const mainNanos = readMainNanos() - mainBefore;
  const { user, system } = process.cpuUsage(cpuBefore);
  const waits = countWaits() - waitsBefore;
  await driver.flush();
  return {
    mainMs: mainNanos / 1e6 / seconds,
    allMs: (user + system) / 1_000 / seconds,
    waits: waits / seconds,
    missing: await countMissing(request.endpoint, service.ids),
  };
}

/** Records single runs, each with a payload of its own. */
class Service {
  /** The ids of the recorded runs. */
  readonly ids: string[] = [];
  readonly #driver: Driver;
  readonly #payloads: readonly Payload[];
  #recorded = 0;

  constructor(driver: Driver, payloads: readonly Payload[]) {
    this.#driver = driver;
    this.#payloads = payloads;
  }

  async warmUp(): Promise<void> {
    const until = performance.now() + maxWarmupMs;
    while (this.#recorded < warmupRuns && performance.now() < until) {
      for (let run = 0; run < warmupRunsPerTurn; run++) {
        this.#record();
      }
      await sleep(warmupPauseMs);
    }
    await this.#driver.flush();
    // These runs may exceed what a client keeps, and are not part of the measurement.
    this.ids.length = 0;
  }

  async record(runsPerSecond: number, seconds: number): Promise<void> {
    const startedAt = performance.now();
    if (runsPerSecond === 0) {
      await sleep(seconds * 1_000);
      return;
    }
    for (let recorded = 0; recorded < runsPerSecond * seconds;) {
      const due = ((performance.now() - startedAt) / 1_000) * runsPerSecond;
      for (; recorded < due; recorded++) {
        this.#record();
      }
      await sleep(
        Math.max(tickMs, startedAt + (recorded / runsPerSecond) * 1_000 - performance.now()),
      );
    }
  }

  #record(): void {
    const payload = this.#payloads[this.#recorded % this.#payloads.length];
    if (payload === undefined) {
      throw new RangeError("The workload has no payloads");
    }
    this.#recorded += 1;
    const run = this.#driver.start(undefined, payload);
    const id = this.#driver.id(run);
    if (id !== "") {
      this.ids.push(id);
    }
    this.#driver.end(run, payload);
  }
}

/** How often the threads of this process have given up their core to wait. */
function countWaits(): number {
  let waits = 0;
  for (const thread of readdirSync("/proc/self/task")) {
    const status = readFileSync(`/proc/self/task/${thread}/status`, "latin1");
    waits += Number(/^voluntary_ctxt_switches:\s*(\d+)/m.exec(status)?.[1] ?? Number.NaN);
  }
  return waits;
}

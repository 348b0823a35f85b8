// A Fastify service that records five runs for each request, in a separate process. requests.bench.ts starts it, sends
// the requests, and receives the figures from it.
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { fastify } from "fastify";
import type { Driver } from "./drivers/driver.ts";
import { loadDriver } from "./drivers/index.ts";
import { countMissing, readMainNanos } from "./process-figures.ts";
import type { Payload } from "./workload.ts";
import { workloads } from "./workloads.ts";
import type { WorkloadName } from "./workloads.ts";

/** The first message from requests.bench.ts. The reply is the service's address. */
export interface RequestsRequest {
  readonly driver: string;
  readonly workload: WorkloadName;
  /** Address of the sink. */
  readonly endpoint: string;
}

/** Each further message. After `begin`, the figures count from then on; `end` has them as its reply. */
export type RequestsPhase = "begin" | "end";

export interface RequestsFigures {
  /** CPU time of the main thread and of all threads for each request, milliseconds, including the service's own. */
  readonly mainMs: number;
  readonly allMs: number;
  readonly requests: number;
  /** Runs that the server did not receive whole. */
  readonly missing: number;
}

/** A root, and below it the steps of a usual answer with retrieval. */
const steps = ["retrieve", "rerank", "generate", "parse"] as const;
/** Rows that a step creates, sorts and renders: about a quarter of a millisecond. */
const rowsPerStep = 360;
const requestRuns = 40;

process.once("message", (request: RequestsRequest) => {
  // A rejection ends the process, which the parent process detects.
  void serve(request);
});

async function serve({ driver: name, workload, endpoint }: RequestsRequest): Promise<void> {
  const createDriver = await loadDriver(name);
  const driver = createDriver({ endpoint, requestRuns });
  const service = new AnswerService(driver, workloads[workload].createPayloads());
  const server = fastify();
  server.get("/answer", () => service.answer());
  await server.listen({ host: "127.0.0.1", port: 0 });
  process.send?.(`http://127.0.0.1:${(server.server.address() as AddressInfo).port}/answer`);

  await once(process, "message");
  const requestsBefore = service.answered;
  const cpuBefore = process.cpuUsage();
  const mainBefore = readMainNanos();
  process.send?.("began");

  await once(process, "message");
  // autocannon ends without waiting for the last responses.
  while (service.started > service.answered) {
    await nextTurn();
  }
  // The last batch belongs to these requests.
  await driver.flush();
  const mainNanos = readMainNanos() - mainBefore;
  const { user, system } = process.cpuUsage(cpuBefore);
  const requests = service.answered - requestsBefore;
  const figures: RequestsFigures = {
    mainMs: mainNanos / 1e6 / requests,
    allMs: (user + system) / 1_000 / requests,
    requests,
    missing: await countMissing(endpoint, service.ids),
  };
  process.send?.(figures);
  process.disconnect();
  await server.close();
}

/** Answers each request in four steps, with about a millisecond of work, and records a run for each and one around them. */
class AnswerService {
  /** The ids of the recorded runs. */
  readonly ids: string[] = [];
  started = 0;
  answered = 0;
  readonly #driver: Driver;
  readonly #payloads: readonly Payload[];
  #next = 0;

  constructor(driver: Driver, payloads: readonly Payload[]) {
    this.#driver = driver;
    this.#payloads = payloads;
  }

  async answer(): Promise<{ readonly answer: string }> {
    this.started += 1;
    const rootPayload = this.#payload();
    const root = this.#start(undefined, rootPayload);
    let length = 0;
    for (const step of steps) {
      const payload = this.#payload();
      const run = this.#start(root, payload);
      length += work(step, this.answered);
      // The steps of a real service wait for something, so that those of other requests run in between.
      await nextTurn();
      this.#driver.end(run, payload);
    }
    this.#driver.end(root, rootPayload);
    this.answered += 1;
    return { answer: `${length} characters` };
  }

  #start(parent: unknown, payload: Payload): unknown {
    const run = this.#driver.start(parent, payload);
    const id = this.#driver.id(run);
    if (id !== "") {
      this.ids.push(id);
    }
    return run;
  }

  #payload(): Payload {
    const payload = this.#payloads[this.#next % this.#payloads.length];
    this.#next += 1;
    if (payload === undefined) {
      throw new RangeError("The workload has no payloads");
    }
    return payload;
  }
}

/** Creates, sorts and renders rows, as services do. */
function work(step: string, seed: number): number {
  const rows = Array.from({ length: rowsPerStep }, (_, row) => ({
    id: `${step}-${row}`,
    score: ((row + 1) * 7_919 * (seed + 1)) % 10_007,
    title: `Result ${row} of ${step}`,
    isCurrent: row % 3 === 0,
  }));
  rows.sort((a, b) => b.score - a.score);
  return JSON.stringify(rows).length;
}

import { CallTimes } from "./call-times.ts";
import type { Driver } from "./drivers/driver.ts";
import { childrenPerTree } from "./workload.ts";
import type { Payload } from "./workload.ts";

/** The traced program: it records trees of runs and uses the payloads in turn, repeatedly. */
export class Trees {
  /** The ids of the runs in the order of their starts. Runs without an id are left out. */
  readonly ids: string[] = [];
  readonly calls = new CallTimes();
  readonly #driver: Driver;
  readonly #payloads: readonly Payload[];
  #next = 0;

  constructor(driver: Driver, payloads: readonly Payload[]) {
    this.#driver = driver;
    this.#payloads = payloads;
  }

  /** Records one tree synchronously. */
  record(): void {
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
    const id = this.#driver.id(run);
    if (id !== "") {
      this.ids.push(id);
    }
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
      throw new RangeError("The workload has no payloads");
    }
    return payload;
  }
}

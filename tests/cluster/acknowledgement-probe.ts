import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

/** What a probe saw since it was asked last. */
export interface ProbedGaps {
  /** The longest time between two acknowledgements, in milliseconds. */
  readonly acknowledgementMs: number;
  /** The longest time from an acknowledgement until the run could be read, in milliseconds. */
  readonly readableMs: number;
}

/** A run every 50 ms. */
const pauseMs = 50;
/** A server that has not answered by then is not asked again for this run. */
const answerMs = 2_000;
const recentMs = 500;
/** Every so many runs, one is read back. */
const readEvery = 10;

/**
 * Sends one small run after another, each to the server that answered last, and to the next one if that fails, as a
 * client behind a load balancer would. Measures for how long no server acknowledged anything.
 */
export class AcknowledgementProbe {
  readonly acknowledgedIds: string[] = [];
  readonly #urls: readonly string[];
  readonly #project: string;
  readonly #ending = new AbortController();
  readonly #loops: Promise<unknown>;
  readonly #unread: { readonly id: string; readonly atMs: number }[] = [];
  #lastMs = performance.now();
  #longestMs = 0;
  #longestReadMs = 0;

  constructor(urls: readonly string[], project: string) {
    this.#urls = urls;
    this.#project = project;
    this.#loops = Promise.all([this.#send(), this.#read()]);
  }

  /** Whether the last run was acknowledged a moment ago. */
  get isAcknowledged(): boolean {
    return performance.now() - this.#lastMs < recentMs;
  }

  /** The longest gaps since the last call, including those that go on. */
  takeGaps(): ProbedGaps {
    const now = performance.now();
    const [unread] = this.#unread;
    this.#noteGap(now);
    const gaps = {
      acknowledgementMs: this.#longestMs,
      readableMs: Math.max(this.#longestReadMs, unread === undefined ? 0 : now - unread.atMs),
    };
    this.#longestMs = 0;
    this.#longestReadMs = 0;
    return gaps;
  }

  /** Ends when everything that was acknowledged has been read. */
  async end(): Promise<void> {
    this.#ending.abort();
    await this.#loops;
  }

  async #send(): Promise<void> {
    let server = 0;
    while (!this.#ending.signal.aborted) {
      const id = randomUUID();
      while (!(await this.#acknowledge(server, id))) {
        server += 1;
      }
      const now = performance.now();
      this.#noteGap(now);
      this.#lastMs = now;
      this.acknowledgedIds.push(id);
      if (this.acknowledgedIds.length % readEvery === 0) {
        this.#unread.push({ id, atMs: now });
      }
      await sleep(pauseMs);
    }
  }

  #noteGap(endedMs: number): void {
    this.#longestMs = Math.max(this.#longestMs, endedMs - this.#lastMs);
  }

  /** Whether a server stored the run, now or earlier: a repeat is 409, or 202 with a log. */
  async #acknowledge(server: number, id: string): Promise<boolean> {
    const start = new Date().toISOString();
    const response = await this.#request(server, "/runs", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        id,
        trace_id: id,
        name: "probe",
        run_type: "chain",
        session_name: this.#project,
        start_time: start,
        dotted_order: `${start.replaceAll(/[-:.]/g, "").replace("Z", "000Z")}${id}`,
        inputs: { probe: id },
      }),
    });
    if (response === 202 || response === 409) {
      return true;
    }
    await sleep(pauseMs);
    return false;
  }

  async #read(): Promise<void> {
    let server = 0;
    while (!this.#ending.signal.aborted || this.#unread.length > 0) {
      const [first] = this.#unread;
      if (first === undefined) {
        await sleep(pauseMs);
      } else if ((await this.#request(server, `/runs/${first.id}`)) === 200) {
        this.#unread.shift();
        this.#longestReadMs = Math.max(this.#longestReadMs, performance.now() - first.atMs);
      } else {
        server += 1;
        await sleep(pauseMs);
      }
    }
  }

  /** The status of the response, or `undefined` if there is none. */
  async #request(
    server: number,
    path: string,
    init: RequestInit = {},
  ): Promise<number | undefined> {
    const url = this.#urls[server % this.#urls.length];
    try {
      const response = await fetch(`${url}${path}`, {
        ...init,
        signal: AbortSignal.timeout(answerMs),
      });
      await response.body?.cancel();
      return response.status;
    } catch {
      return undefined;
    }
  }
}

import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Activity } from "../runs/activity.ts";
import type { PoolState } from "../storage/pool-state.ts";

/** What the metrics need from the store. */
export interface ObservedStore {
  readonly readOnlyReason: string | undefined;
  /** The connections of a database server, by their use. */
  readonly pools: Readonly<Record<string, PoolState>>;
}

/** A request that was answered. */
export interface AnsweredRequest {
  readonly method: string;
  /** The pattern of the route, such as `/runs/:id`, so that ids do not become labels; `undefined` if no route matched. */
  readonly route: string | undefined;
  readonly status: number;
  readonly seconds: number;
}

/** Upper bounds of the histogram of durations, in seconds: from a small read to the limit of a request. */
const durationBounds = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 60];

/** Counts what the server does, in the text format of Prometheus. The counts begin with the process. */
export class ServerMetrics {
  readonly #registry = new Registry();
  readonly #durations: Histogram<"method" | "route" | "status">;
  #observesProcess = false;
  readonly #runs: Counter;
  readonly #errors: Counter;

  constructor(store: ObservedStore) {
    const registers = [this.#registry];
    this.#durations = new Histogram({
      name: "millrace_http_request_duration_seconds",
      help: "Time from the head of a request to the end of its response.",
      labelNames: ["method", "route", "status"],
      buckets: durationBounds,
      registers,
    });
    this.#runs = new Counter({
      name: "millrace_runs_stored_total",
      help: "Runs that were stored.",
      registers,
    });
    this.#errors = new Counter({
      name: "millrace_trace_errors_total",
      help: "Traces whose root run ended with an error.",
      registers,
    });
    const acceptsWrites: Gauge = new Gauge({
      name: "millrace_accepts_writes",
      help: "1 while the server accepts writes, 0 while its disk is full.",
      registers,
      collect: () => acceptsWrites.set(store.readOnlyReason === undefined ? 1 : 0),
    });
    if (Object.keys(store.pools).length > 0) {
      this.#observePools(store);
    }
  }

  #observePools(store: ObservedStore): void {
    const connections: Gauge<"pool" | "state"> = new Gauge({
      name: "millrace_store_connections",
      help: "Connections to the database server: the most that may be open (limit), those that are open, and those in use (busy).",
      labelNames: ["pool", "state"],
      registers: [this.#registry],
      collect: () => {
        for (const [pool, { size, open, busy }] of Object.entries(store.pools)) {
          connections.set({ pool, state: "limit" }, size);
          connections.set({ pool, state: "open" }, open);
          connections.set({ pool, state: "busy" }, busy);
        }
      },
    });
    const waiting: Gauge<"pool"> = new Gauge({
      name: "millrace_store_waiting_calls",
      help: "Calls that wait for a connection to the database server.",
      labelNames: ["pool"],
      registers: [this.#registry],
      collect: () => {
        for (const [pool, state] of Object.entries(store.pools)) {
          waiting.set({ pool }, state.waiting);
        }
      },
    });
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  observeRequest({ method, route = "none", status, seconds }: AnsweredRequest): void {
    this.#durations.observe({ method, route, status }, seconds);
  }

  countActivity(activity: readonly Activity[]): void {
    for (const { runs, errors } of activity) {
      this.#runs.inc(runs);
      this.#errors.inc(errors);
    }
  }

  /** Writes all metrics as text. */
  write(): Promise<string> {
    if (!this.#observesProcess) {
      // CPU, memory, event-loop delay and garbage collection of the process. Only from the first call on, because the
      // delay is measured by a timer that wakes the thread a hundred times a second.
      this.#observesProcess = true;
      collectDefaultMetrics({ register: this.#registry });
    }
    return this.#registry.metrics();
  }
}

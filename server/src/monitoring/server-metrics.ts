import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import type { TenantLimit } from "../tenants/tenant-limits.ts";
import type { Activity } from "../runs/activity.ts";

/** What the metrics need from the store. */
export interface ObservedStore {
  readonly readOnlyReason: string | undefined;
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
  readonly #droppedAuditEntries: Counter;
  readonly #limitedRequests: Counter<"limit">;

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
    this.#droppedAuditEntries = new Counter({
      name: "millrace_audit_entries_dropped_total",
      help: "Entries of the audit log that were not stored.",
      registers,
    });
    // The tenant is not a label: the number of tenants has no bound.
    this.#limitedRequests = new Counter({
      name: "millrace_limited_requests_total",
      help: "Requests that were refused because their tenant had reached a limit.",
      labelNames: ["limit"],
      registers,
    });
    const acceptsWrites: Gauge = new Gauge({
      name: "millrace_accepts_writes",
      help: "1 while the server accepts writes, 0 while its disk is full.",
      registers,
      collect: () => acceptsWrites.set(store.readOnlyReason === undefined ? 1 : 0),
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

  countDroppedAuditEntry(): void {
    this.#droppedAuditEntries.inc();
  }

  countLimitedRequest(limit: TenantLimit): void {
    this.#limitedRequests.inc({ limit });
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

import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import type { TenantLimit } from "../tenants/tenant-limits.ts";
import type { ActivityListener } from "../runs/activity.ts";
import type { PoolState } from "../storage/pool-state.ts";

/** What the metrics need from the store. */
export interface ObservedStore {
  readonly readOnlyReason: string | undefined;
  /** The connections of a database server, by their use. */
  readonly pools: Readonly<Record<string, PoolState>>;
  /** Adds a listener for what was stored. */
  onActivity(listener: ActivityListener): void;
}

/** What the metrics and the health checks need from the ingest log. */
export interface ObservedLog {
  readonly isConnected: boolean;
  /** How often the connection was lost and restored. */
  readonly reconnects: number;
  /** Messages that this server has appended. */
  readonly appended: number;
  /** Messages that this server has stored in the database, because the log did not acknowledge them in time. */
  readonly storedDirectly: number;
  /** Messages that this server has stored once more, because the log may have lost them. */
  readonly storedAgain: number;
  /** Whether runs can be received while the log can't be reached. */
  readonly canStoreDirectly: boolean;
  /** The state of the log that was read last; `undefined` if it could not be read. */
  readonly state: ObservedLogState | undefined;
  /** What the writer of this process has done; `undefined` if it has none. */
  readonly writer: ObservedWriter | undefined;
}

/** The state of the ingest log, as the metrics of the server report it. */
export interface ObservedLogState {
  readonly waitingMessages: number;
  readonly waitingBytes: number;
  readonly maxBytes: number;
  /** Messages that writers have received and not stored yet. */
  readonly inWork: number;
  readonly lagSeconds: number;
  readonly deadLetters: number;
}

/** What the writer of this process has done with the messages of the log since it was started. */
export interface ObservedWriter {
  /** Operations (starts and updates of runs) that it stored. */
  readonly applied: number;
  /** Operations that were stored already. */
  readonly duplicates: number;
  /** Messages, or parts of messages, that could not be stored. */
  readonly deadLetters: number;
}

/** What the metrics need from the telemetry, which records the server's own spans. */
export interface ObservedTelemetry {
  readonly counts: { readonly exported: number; readonly dropped: number };
}

export interface AnsweredRequest {
  readonly method: string;
  /**
   * The pattern of the route, such as `/runs/:id`, so that ids do not become labels; `undefined` if no route matched.
   */
  readonly route: string | undefined;
  readonly status: number;
  readonly seconds: number;
}

type LogMetrics = Readonly<
  Record<string, { readonly help: string; readonly read: (log: ObservedLog) => number | undefined }>
>;

/** Counters of the ingest log. They begin with the process. */
const logCounts: LogMetrics = {
  reconnects: {
    help: "How often the connection to the ingest log was lost and restored.",
    read: ({ reconnects }) => reconnects,
  },
  appended: {
    help: "Messages that this server has appended to the ingest log.",
    read: ({ appended }) => appended,
  },
  stored_directly: {
    help: "Messages that this server has stored in the database, because the ingest log did not acknowledge them in time.",
    read: ({ storedDirectly }) => storedDirectly,
  },
  stored_again: {
    help: "Messages that this server has stored once more, because the ingest log may have lost them after acknowledging them.",
    read: ({ storedAgain }) => storedAgain,
  },
  applied: {
    help: "Operations that the writer of this process has stored.",
    read: ({ writer }) => writer?.applied,
  },
  repeated: {
    help: "Operations that the writer of this process did not store, because they were stored already.",
    read: ({ writer }) => writer?.duplicates,
  },
  given_up: {
    help: "Messages, or parts of messages, that the writer of this process could not store, and made dead letters.",
    read: ({ writer }) => writer?.deadLetters,
  },
};

/** Gauges that show the current state of the ingest log. */
const logMetrics: LogMetrics = {
  connected: {
    help: "1 while the server is connected to the ingest log, else 0.",
    read: ({ isConnected }) => (isConnected ? 1 : 0),
  },
  waiting_messages: {
    help: "Messages in the ingest log that are not stored yet.",
    read: ({ state }) => state?.waitingMessages,
  },
  waiting_bytes: {
    help: "Bytes of the messages in the ingest log that are not stored yet.",
    read: ({ state }) => state?.waitingBytes,
  },
  max_bytes: {
    help: "Bytes that may wait in the ingest log.",
    read: ({ state }) => state?.maxBytes,
  },
  messages_in_work: {
    help: "Messages that writers have received and not stored yet.",
    read: ({ state }) => state?.inWork,
  },
  lag_seconds: {
    help: "Seconds for which the oldest message in the ingest log has waited.",
    read: ({ state }) => state?.lagSeconds,
  },
  dead_letters: {
    help: "Messages that could not be stored, and wait for somebody to replay them.",
    read: ({ state }) => state?.deadLetters,
  },
};

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

  constructor(store: ObservedStore, log?: ObservedLog, telemetry?: ObservedTelemetry) {
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
      help: "Runs that this process has stored.",
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
    store.onActivity((activity, source) => {
      // Other processes count what they store themselves, so that the sum over all processes is right.
      if (source === "own") {
        for (const { runs, errors } of activity) {
          this.#runs.inc(runs);
          this.#errors.inc(errors);
        }
      }
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
    if (log !== undefined) {
      this.#observeLog(log);
    }
    if (telemetry !== undefined) {
      this.#observeTelemetry(telemetry);
    }
    if (Object.keys(store.pools).length > 0) {
      this.#observePools(store);
    }
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  observeRequest({ method, route = "none", status, seconds }: AnsweredRequest): void {
    this.#durations.observe({ method, route, status }, seconds);
  }

  #observeLog(log: ObservedLog): void {
    for (const [name, { help, read }] of Object.entries(logCounts)) {
      const counter: Counter = new Counter({
        name: `millrace_log_${name}_total`,
        help,
        registers: [this.#registry],
        collect: () => {
          counter.reset();
          counter.inc(read(log) ?? 0);
        },
      });
    }
    for (const [name, { help, read }] of Object.entries(logMetrics)) {
      const gauge: Gauge = new Gauge({
        name: `millrace_log_${name}`,
        help,
        registers: [this.#registry],
        // An unknown value becomes NaN, so that no alert mistakes it for zero.
        collect: () => gauge.set(read(log) ?? Number.NaN),
      });
    }
  }

  #observeTelemetry(telemetry: ObservedTelemetry): void {
    const spans: Counter<"outcome"> = new Counter({
      name: "millrace_own_spans_total",
      help: "Spans of the server itself that were sent (exported), and that were dropped.",
      labelNames: ["outcome"],
      registers: [this.#registry],
      collect: () => {
        spans.reset();
        for (const [outcome, count] of Object.entries(telemetry.counts)) {
          spans.inc({ outcome }, count);
        }
      },
    });
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

  countDroppedAuditEntry(): void {
    this.#droppedAuditEntries.inc();
  }

  countLimitedRequest(limit: TenantLimit): void {
    this.#limitedRequests.inc({ limit });
  }

  /** Writes all metrics as text. */
  write(): Promise<string> {
    if (!this.#observesProcess) {
      // Collect CPU, memory, event-loop delay and garbage collection of the process only from the first call on: the
      // event-loop delay is measured by a timer, which wakes the thread a hundred times a second.
      this.#observesProcess = true;
      collectDefaultMetrics({ register: this.#registry });
    }
    return this.#registry.metrics();
  }
}

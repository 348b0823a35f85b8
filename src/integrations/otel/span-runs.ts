import { currentRun, recordExchange, toSpanUuid, toTraceUuid } from "../../main/index.ts";
import type { ExchangeRun, NewExchangeOptions, RunTree } from "../../main/index.ts";

/** Options of the runs that spans become. */
export type SpanRunOptions = Pick<NewExchangeOptions, "client" | "tags" | "metadata">;

/** Seconds since the Unix epoch, and nanoseconds, as OpenTelemetry's SDK has times. */
export type SpanTime = readonly [seconds: number, nanos: number];

/** What is known of a span when it starts. Ids are hexadecimal digits. */
export interface StartedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Absent for a root span. */
  readonly parentSpanId: string | undefined;
  readonly startTime: SpanTime;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** A span that has ended, as plain data that a worker reads. */
export interface EndedSpan extends StartedSpan {
  readonly name: string;
  /** `SpanKind` of OpenTelemetry's API. */
  readonly kind: number;
  readonly endTime: SpanTime;
  readonly traceState: string | undefined;
  readonly status: { readonly code: number; readonly message?: string | undefined };
  readonly events: readonly {
    readonly name: string;
    readonly time: SpanTime;
    readonly attributes: Readonly<Record<string, unknown>> | undefined;
  }[];
  readonly links: readonly {
    readonly traceId: string;
    readonly spanId: string;
    readonly attributes: Readonly<Record<string, unknown>> | undefined;
  }[];
  readonly resource: Readonly<Record<string, unknown>>;
  readonly scope: { readonly name: string; readonly version?: string | undefined };
}

/** Maximum number of spans whose runs are remembered. Of more open ones, the oldest are not recorded. */
const spanLimit = 10_000;

/**
 * Records spans as runs. A span is the child of its parent span's run, or of the run that is current when it starts. It is
 * recorded when it has ended; what its attributes mean is found out by a worker, by the rules of the local server.
 */
export class SpanRuns {
  readonly #options: SpanRunOptions;
  /** The runs of spans that are open, in the order of their starts. */
  readonly #open = new Map<string, ExchangeRun>();
  /** The runs of spans that have ended, because a child may start later. */
  readonly #ended = new Map<string, RunTree>();

  constructor(options: SpanRunOptions) {
    this.#options = options;
  }

  /** Starts the run of a span. */
  start(span: StartedSpan): RunTree {
    const { traceId, spanId, attributes, startTime } = span;
    const { client, tags, metadata } = this.#options;
    const parent = this.#findParent(span);
    // As on the server, the root of a trace has the trace's id.
    const isTraceRoot = parent === undefined && span.parentSpanId === undefined;
    const exchange = recordExchange({
      client,
      tags,
      metadata,
      format: "otel.span",
      recordedAtEnd: true,
      id: isTraceRoot ? toTraceUuid(traceId) : toSpanUuid(traceId, spanId),
      startTime: toMillis(startTime),
      parent,
      projectName: readText(attributes["langsmith.trace.session_name"]),
      referenceExampleId: readText(attributes["langsmith.reference_example_id"]),
    });
    const key = traceId + spanId;
    this.#open.set(key, exchange);
    dropOldest(this.#open);
    return exchange.run;
  }

  /** Records a span. */
  end(span: EndedSpan): void {
    const key = span.traceId + span.spanId;
    const exchange = this.#open.get(key);
    if (exchange !== undefined) {
      this.#open.delete(key);
      this.#remember(key, exchange.run);
      exchange.end({ value: span, endTime: toMillis(span.endTime) });
    }
  }

  /** Leaves a span out. Its children become children of its parent's run. */
  leaveOut({ traceId, spanId, parentSpanId }: StartedSpan): void {
    const key = traceId + spanId;
    this.#open.delete(key);
    const parent = parentSpanId === undefined ? undefined : this.#find(traceId + parentSpanId);
    if (parent !== undefined) {
      this.#remember(key, parent);
    }
  }

  /** Returns the run of the parent span, or the current run if that is below it or there is no parent span. */
  #findParent({ traceId, parentSpanId }: StartedSpan): RunTree | undefined {
    const parent = parentSpanId === undefined ? undefined : this.#find(traceId + parentSpanId);
    const current = currentRun();
    const isBelow = parent !== undefined && current?.dottedOrder.startsWith(parent.dottedOrder);
    return parent === undefined || isBelow === true ? current : parent;
  }

  #find(key: string): RunTree | undefined {
    return this.#open.get(key)?.run ?? this.#ended.get(key);
  }

  #remember(key: string, run: RunTree): void {
    this.#ended.set(key, run);
    dropOldest(this.#ended);
  }
}

function dropOldest(runs: Map<string, unknown>): void {
  if (runs.size > spanLimit) {
    const [oldest = ""] = runs.keys();
    runs.delete(oldest);
  }
}

/** Converts a time to milliseconds, rounded down to microseconds, as the server does. */
const toMillis = ([seconds, nanos]: SpanTime): number =>
  seconds * 1_000 + Math.floor(nanos / 1_000) / 1_000;

const readText = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

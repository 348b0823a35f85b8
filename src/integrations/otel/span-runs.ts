import { currentRun, recordExchange, toSpanUuid, toTraceUuid } from "../../main/index.ts";
import type { ExchangeRun, NewExchangeOptions, RunTree } from "../../main/index.ts";

/** Options for the runs that record spans. */
export type SpanRunOptions = Pick<NewExchangeOptions, "client" | "tags" | "metadata">;

/** A time in the format of OpenTelemetry's SDK: seconds since the Unix epoch, and nanoseconds. */
export type SpanTime = readonly [seconds: number, nanos: number];

/** The data of a span at its start. Ids are hexadecimal digits. */
export interface StartedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Absent for a root span. */
  readonly parentSpanId: string | undefined;
  readonly startTime: SpanTime;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** A span that has ended, as plain data for a worker. */
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

/**
 * Maximum number of open spans, and of ended spans, that are remembered. If more are open, the oldest are not recorded.
 */
const spanLimit = 10_000;

/**
 * Records spans as runs. A span is the child of its parent span's run, or of the run that is current when it starts. It
 * is recorded when it has ended. A worker converts its attributes to the fields of the run, by the same rules as the
 * local server.
 */
export class SpanRuns {
  readonly #options: SpanRunOptions;
  /** The runs of spans that are open, in the order of their starts. */
  readonly #open = new Map<string, ExchangeRun>();
  /** The runs of spans that have ended. They are remembered because a child may start later. */
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

  /**
   * Returns the run of the parent span. Returns the current run instead if it is a descendant of that run, or if the
   * run of the parent span is not known.
   */
  #findParent({ traceId, parentSpanId }: StartedSpan): RunTree | undefined {
    const parent = parentSpanId === undefined ? undefined : this.#find(traceId + parentSpanId);
    const runOfContext = currentRun();
    const isBelow =
      parent !== undefined && runOfContext?.dottedOrder.startsWith(parent.dottedOrder);
    return parent === undefined || isBelow === true ? runOfContext : parent;
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

import { AsyncLocalStorage } from "node:async_hooks";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, TraceFlags } from "@opentelemetry/api";
import type { Context, Span, SpanOptions, Tracer } from "@opentelemetry/api";
import { ExportResultCode, W3CTraceContextPropagator } from "@opentelemetry/core";
import type { ExportResult } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from "@opentelemetry/resources";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import type { ReadableSpan, SpanExporter, SpanProcessor } from "@opentelemetry/sdk-trace-base";
import { version } from "millrace/model";
import { ownSpansHeader, telemetryLimits } from "./telemetry.ts";
import type {
  OpenSpan,
  SpanCounts,
  Telemetry,
  TelemetrySettings,
  TracedCall,
  TracedRequest,
} from "./telemetry.ts";

/** The span to which calls belong, and the number of its calls so far. */
interface CurrentSpan {
  readonly span: Span;
  readonly context: Context;
  calls: number;
}

/**
 * Records spans with the packages of OpenTelemetry, and sends them with OTLP over HTTP. Sampling, headers and the name
 * of the service are read from the standard variables, such as `OTEL_TRACES_SAMPLER`.
 */
export class OpenTelemetry implements Telemetry {
  readonly #provider: BasicTracerProvider;
  readonly #tracer: Tracer;
  readonly #queue: BoundedSpans;
  readonly #propagator = new W3CTraceContextPropagator();
  // An `AsyncLocalStorage` makes each promise of the thread slower, so it exists only in a server that records spans.
  readonly #current = new AsyncLocalStorage<CurrentSpan>();

  constructor({ endpoint }: TelemetrySettings) {
    const url = `${endpoint.replace(/\/+$/, "")}/v1/traces`;
    this.#queue = new BoundedSpans(
      endpoint,
      new OTLPTraceExporter({
        url,
        headers: { [ownSpansHeader]: "1" },
        timeoutMillis: telemetryLimits.exportMs,
      }),
    );
    this.#provider = new BasicTracerProvider({
      resource: defaultResource()
        .merge(
          resourceFromAttributes({
            "service.name": "millrace-server",
            "service.version": version,
          }),
        )
        .merge(detectResources({ detectors: [envDetector] })),
      spanProcessors: [this.#queue],
    });
    this.#tracer = this.#provider.getTracer("millrace-server", version);
  }

  get counts(): SpanCounts {
    return this.#queue.counts;
  }

  startRequest({ name, attributes, headers }: TracedRequest): OpenSpan {
    const parent = this.#propagator.extract(ROOT_CONTEXT, headers, {
      keys: (carrier: TracedRequest["headers"]) => Object.keys(carrier),
      get: (carrier: TracedRequest["headers"], key) => {
        const value = carrier[key];
        return typeof value === "string" ? value : value?.join(",");
      },
    });
    return this.#start(name, { kind: SpanKind.SERVER, attributes }, parent);
  }

  async traceCall<Result>(
    { name, attributes }: TracedCall,
    makeCall: () => Promise<Result>,
  ): Promise<Result> {
    const currentSpan = this.#current.getStore();
    if (currentSpan === undefined) {
      return makeCall();
    }
    currentSpan.calls += 1;
    if (currentSpan.calls > telemetryLimits.callsOfSpan) {
      currentSpan.span.setAttribute(
        "millrace.calls_without_span",
        currentSpan.calls - telemetryLimits.callsOfSpan,
      );
      return makeCall();
    }
    const span = this.#tracer.startSpan(
      name,
      { kind: SpanKind.CLIENT, attributes },
      currentSpan.context,
    );
    return endAfter(span, makeCall);
  }

  traceWork<Result>(
    { name, attributes }: TracedCall,
    perform: () => Promise<Result>,
  ): Promise<Result> {
    const span = this.#tracer.startSpan(name, { attributes }, ROOT_CONTEXT);
    return endAfter(span, () => this.#runIn(span, perform));
  }

  async close(): Promise<void> {
    await Promise.race([
      // `BoundedSpans` counts and reports the spans that could not be sent.
      this.#provider.shutdown().catch(() => undefined),
      sleep(telemetryLimits.closeMs, undefined, { ref: false }),
    ]);
    this.#queue.dropWaiting();
  }

  #start(name: string, options: SpanOptions, parent: Context): OpenSpan {
    const span = this.#tracer.startSpan(name, options, parent);
    return {
      run: (work) => this.#runIn(span, work),
      end: ({ attributes, errorType }) => {
        span.setAttributes(attributes);
        end(span, errorType);
      },
    };
  }

  #runIn<Result>(span: Span, work: () => Result): Result {
    return span.isRecording()
      ? this.#current.run({ span, context: trace.setSpan(ROOT_CONTEXT, span), calls: 0 }, work)
      : work();
  }
}

async function endAfter<Result>(span: Span, work: () => Promise<Result>): Promise<Result> {
  try {
    const result = await work();
    end(span);
    return result;
  } catch (cause) {
    end(span, toErrorType(cause));
    throw cause;
  }
}

/** Ends a span. The message of an error is not recorded, because it may quote what a client has sent. */
function end(span: Span, errorType?: string): void {
  if (errorType !== undefined) {
    span.setAttribute("error.type", errorType);
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end();
}

/** The status of a refused call, or the name of the error. */
function toErrorType(cause: unknown): string {
  const status: unknown = cause instanceof Error && "status" in cause ? cause.status : undefined;
  if (typeof status === "number") {
    return String(status);
  }
  return cause instanceof Error ? cause.name : "unknown";
}

/**
 * Limits how many spans wait to be sent (see {@link telemetryLimits}), and counts the spans that are sent and dropped,
 * because the batch processor does not report them.
 */
class BoundedSpans implements SpanProcessor {
  readonly #endpoint: string;
  readonly #batches: BatchSpanProcessor;
  #waiting = 0;
  #exported = 0;
  #dropped = 0;
  /** Spans that were dropped since the last warning, and the time of that warning. */
  #unreported = 0;
  #warnedAtMs: number | undefined;

  constructor(endpoint: string, exporter: SpanExporter) {
    this.#endpoint = endpoint;
    const { waitingSpans, batchSpans, exportMs } = telemetryLimits;
    this.#batches = new BatchSpanProcessor(
      {
        export: (spans, onResult) =>
          exporter.export(spans, (result) => {
            this.#countResult(spans.length, result);
            onResult(result);
          }),
        shutdown: () => exporter.shutdown(),
      },
      {
        maxQueueSize: waitingSpans,
        maxExportBatchSize: batchSpans,
        exportTimeoutMillis: exportMs,
      },
    );
  }

  get counts(): SpanCounts {
    return { exported: this.#exported, dropped: this.#dropped };
  }

  /** Does nothing: a span is recorded when it ends. */
  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    if ((span.spanContext().traceFlags & TraceFlags.SAMPLED) === 0) {
      return;
    }
    if (this.#waiting >= telemetryLimits.waitingSpans) {
      this.#drop(1, `${telemetryLimits.waitingSpans} other spans are waiting to be sent`);
      return;
    }
    this.#waiting += 1;
    this.#batches.onEnd(span);
  }

  forceFlush(): Promise<void> {
    return this.#batches.forceFlush();
  }

  shutdown(): Promise<void> {
    return this.#batches.shutdown();
  }

  /** Counts the spans that still wait as dropped. */
  dropWaiting(): void {
    if (this.#waiting > 0) {
      this.#drop(this.#waiting, "the server has ended");
      this.#waiting = 0;
    }
  }

  #countResult(count: number, { code, error }: ExportResult): void {
    this.#waiting = Math.max(0, this.#waiting - count);
    if (code === ExportResultCode.SUCCESS) {
      this.#exported += count;
    } else {
      this.#drop(count, error?.message ?? "unknown reason");
    }
  }

  #drop(count: number, reason: string): void {
    this.#dropped += count;
    this.#unreported += count;
    const nowMs = performance.now();
    if (this.#warnedAtMs === undefined || nowMs - this.#warnedAtMs > telemetryLimits.warningMs) {
      process.emitWarning(
        `${this.#unreported} spans of the server could not be sent to ${this.#endpoint}: ${reason.slice(0, reasonChars)}. Check otelEndpoint, and OTEL_EXPORTER_OTLP_HEADERS if the receiver needs a key`,
      );
      this.#warnedAtMs = nowMs;
      this.#unreported = 0;
    }
  }
}

/** Maximum number of characters of a reason in a warning: the reason may come from the receiver, and may be long. */
const reasonChars = 200;

import { Client, flush } from "../../main/index.ts";
import { isRecordedSpan } from "../recorded-spans.ts";
import { SpanRuns } from "./span-runs.ts";
import type { EndedSpan, SpanRunOptions, SpanTime, StartedSpan } from "./span-runs.ts";

type Attributes = Readonly<Record<string, unknown>>;

/** OpenTelemetry's span context: the ids and the flags of a span, which are passed between processes. */
interface SdkSpanContext {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
  readonly traceState?: { serialize(): string };
}

interface Scope {
  readonly name: string;
  readonly version?: string | undefined;
}

/** A span of OpenTelemetry's SDK, version 1 or 2. Members that only one version has are optional. */
export interface SdkSpan {
  readonly name: string;
  readonly kind: number;
  spanContext(): SdkSpanContext;
  /** Only in version 2 of the SDK. */
  readonly parentSpanContext?: SdkSpanContext | undefined;
  /** Only in version 1 of the SDK. */
  readonly parentSpanId?: string | undefined;
  readonly startTime: SpanTime;
  readonly endTime: SpanTime;
  readonly status: { readonly code: number; readonly message?: string | undefined };
  readonly attributes: object;
  readonly links: readonly { readonly context: SdkSpanContext; readonly attributes?: object }[];
  readonly events: readonly {
    readonly name: string;
    readonly time: SpanTime;
    readonly attributes?: object;
  }[];
  readonly resource: { readonly attributes: object };
  /** Only in version 2 of the SDK. */
  readonly instrumentationScope?: Scope | undefined;
  /** Only in version 1 of the SDK. */
  readonly instrumentationLibrary?: Scope | undefined;
}

/** Options of `MillraceSpanProcessor`. */
export interface SpanProcessorOptions extends SpanRunOptions {
  /**
   * Returns whether a span is recorded. It is called when the span starts, with its name, attributes and scope. The
   * children of a span that is not recorded become children of its parent's run.
   *
   * @defaultValue all spans are recorded
   */
  readonly filter?: ((span: SdkSpan) => boolean) | undefined;
}

/**
 * Records the spans of OpenTelemetry's SDK, version 1 or 2, as runs. Pass it to a provider in `spanProcessors`. A span
 * is the child of its parent span's run; a span without a parent in this process is the child of the current run. A
 * worker converts the spans by the same rules as the local server, so the runs are the same as if the spans were sent
 * to the server over OTLP.
 *
 * A span is recorded when it has ended. Spans that are not sampled are left out, and so are the spans of calls that
 * `wrapAnthropic` records. No method throws.
 */
export class MillraceSpanProcessor {
  readonly #runs: SpanRuns;
  readonly #options: SpanProcessorOptions;

  constructor(options: SpanProcessorOptions = {}) {
    const { filter: _, ...runOptions } = options;
    this.#options = options;
    this.#runs = new SpanRuns(runOptions);
  }

  /** Called by OpenTelemetry's SDK when a span starts. */
  onStart(span: SdkSpan): void {
    const started = readSpan(toStarted, span);
    if (started === undefined) {
      return;
    }
    if (isSampled(span) && this.#passesFilter(span)) {
      this.#runs.start(started);
    } else {
      this.#runs.leaveOut(started);
    }
  }

  /** Called by OpenTelemetry's SDK when a span ends. */
  onEnd(span: SdkSpan): void {
    const ended = readSpan(toEnded, span);
    if (ended === undefined) {
      return;
    }
    if (isRecordedSpan(span)) {
      this.#runs.leaveOut(ended);
    } else {
      this.#runs.end(ended);
    }
  }

  /** Sends all spans that have ended. The time limit is that of the client's `flush`. */
  async forceFlush(): Promise<void> {
    const { client } = this.#options;
    await (client instanceof Client ? client.flush() : flush());
  }

  /** Same as `forceFlush`. The client stays open. */
  shutdown(): Promise<void> {
    return this.forceFlush();
  }

  #passesFilter(span: SdkSpan): boolean {
    try {
      return this.#options.filter?.(span) !== false;
    } catch {
      // The caller's function failed. Recording one span too many is better than losing one.
      return true;
    }
  }
}

/** Reads a span. An object that can't be read is not recorded; no version of the SDK creates such a span. */
function readSpan<Result>(read: (span: SdkSpan) => Result, span: SdkSpan): Result | undefined {
  try {
    return read(span);
  } catch {
    return undefined; // The object is not a span, so no run is lost.
  }
}

/** The trace flag of sampled spans. Other spans must not be exported. */
const sampledFlag = 1;

const isSampled = (span: SdkSpan): boolean => (span.spanContext().traceFlags & sampledFlag) !== 0;

function toStarted(span: SdkSpan): StartedSpan {
  const { traceId, spanId } = span.spanContext();
  const { startTime, attributes } = span;
  const parentSpanId = span.parentSpanContext?.spanId ?? span.parentSpanId;
  return { traceId, spanId, parentSpanId, startTime, attributes: attributes as Attributes };
}

function toEnded(span: SdkSpan): EndedSpan {
  const { name, kind, endTime, status, resource } = span;
  const scope = span.instrumentationScope ?? span.instrumentationLibrary ?? { name: "" };
  return {
    ...toStarted(span),
    name,
    kind,
    endTime,
    traceState: span.spanContext().traceState?.serialize(),
    status: { code: status.code, message: status.message },
    events: span.events.map((event) => ({
      name: event.name,
      time: event.time,
      attributes: event.attributes as Attributes | undefined,
    })),
    links: span.links.map(({ context, attributes }) => ({
      traceId: context.traceId,
      spanId: context.spanId,
      attributes: attributes as Attributes | undefined,
    })),
    resource: resource.attributes as Attributes,
    scope: { name: scope.name, version: scope.version },
  };
}

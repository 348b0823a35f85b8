import { randomBytes } from "node:crypto";
import type {
  Attributes,
  AttributeValue,
  Context,
  Exception,
  Link,
  Span,
  SpanContext,
  SpanOptions,
  SpanStatus,
  TimeInput,
  Tracer,
  TracerProvider,
} from "@opentelemetry/api";
import { currentRun, withRun } from "../../main/index.ts";
import type { RunTree } from "../../main/index.ts";
import { isRecordedSpan } from "../recorded-spans.ts";
import { SpanRuns } from "./span-runs.ts";
import type { EndedSpan, SpanRunOptions, SpanTime } from "./span-runs.ts";

/** Options of `millraceTracerProvider`. */
export type TracerProviderOptions = SpanRunOptions;

/**
 * Returns a provider of tracers whose spans are recorded as runs, without OpenTelemetry's SDK. Use it with libraries
 * that accept a tracer or a provider, or pass it to `trace.setGlobalTracerProvider`.
 *
 * A span is the child of the span in the context with which it is started, or else of the current run. While
 * `startActiveSpan` calls its function, the span's run is the current run, so spans and runs can contain each other. If
 * the program has set a context manager, the span is also the active span. Never throws.
 */
export const millraceTracerProvider = (options: TracerProviderOptions = {}): TracerProvider => {
  const runs = new SpanRuns(options);
  return { getTracer: (name, version) => new RunTracer(runs, { name, version }) };
};

/** Creates spans that are recorded as runs. */
class RunTracer implements Tracer {
  readonly #runs: SpanRuns;
  readonly #scope: EndedSpan["scope"];

  constructor(runs: SpanRuns, scope: EndedSpan["scope"]) {
    this.#runs = runs;
    this.#scope = scope;
  }

  startSpan(name: string, options: SpanOptions = {}, context?: Context): RunSpan {
    const parent = options.root === true ? undefined : findParent(context);
    return new RunSpan(name, options, { runs: this.#runs, scope: this.#scope, parent });
  }

  startActiveSpan<Fn extends (span: Span) => unknown>(
    name: string,
    ...otherArguments: readonly unknown[]
  ): ReturnType<Fn> {
    const fn = otherArguments.at(-1) as Fn;
    const options = otherArguments.length > 1 ? (otherArguments[0] as SpanOptions) : {};
    const span = this.startSpan(
      name,
      options,
      otherArguments.length > 2 ? (otherArguments[1] as Context) : undefined,
    );
    const call = (): unknown => fn(span);
    // OpenTelemetry's type requires the return type of `fn`.
    return withRun(span.run, () => callInContext(span, call)) as ReturnType<Fn>;
  }
}

/** Constructor arguments of {@link RunSpan}, other than those of the program. */
interface SpanInit {
  readonly runs: SpanRuns;
  readonly scope: EndedSpan["scope"];
  /** The parent span, if the program passed one. */
  readonly parent: SpanContext | undefined;
}

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

/** A span. After its end, calls have no effect. */
class RunSpan implements Span {
  readonly run: RunTree;
  /**
   * Spans of OpenTelemetry's SDK have this member too. `wrapAnthropic` uses it to recognize the spans of the calls that
   * it records.
   */
  readonly instrumentationScope: EndedSpan["scope"];
  readonly #runs: SpanRuns;
  readonly #context: SpanContext;
  readonly #attributes: Attributes;
  readonly #events: EndedSpan["events"][number][] = [];
  readonly #links: EndedSpan["links"][number][] = [];
  readonly #data: Writable<
    Pick<EndedSpan, "name" | "kind" | "startTime" | "parentSpanId" | "scope" | "status">
  >;
  #isRecording = true;

  constructor(name: string, options: SpanOptions, { runs, scope, parent }: SpanInit) {
    const traceId = parent?.traceId ?? currentRun()?.traceId.replaceAll("-", "") ?? randomHex(16);
    const spanId = randomHex(8);
    this.instrumentationScope = scope;
    this.#runs = runs;
    this.#context = { traceId, spanId, traceFlags: 1 };
    this.#attributes = copyAttributes(options.attributes);
    this.#data = {
      name,
      kind: options.kind ?? 0,
      startTime: toTime(options.startTime),
      parentSpanId: parent?.spanId,
      scope,
      status: { code: 0 },
    };
    this.addLinks(options.links ?? []);
    const { startTime, parentSpanId } = this.#data;
    const started = { traceId, spanId, parentSpanId, startTime, attributes: this.#attributes };
    this.run = runs.start(started);
  }

  spanContext(): SpanContext {
    return this.#context;
  }

  setAttribute(key: string, value: AttributeValue): this {
    return this.setAttributes({ [key]: value });
  }

  setAttributes(attributes: Attributes): this {
    if (this.#isRecording) {
      Object.assign(this.#attributes, copyAttributes(attributes));
    }
    return this;
  }

  addEvent(name: string, attributesOrTime?: Attributes | TimeInput, time?: TimeInput): this {
    if (this.#isRecording) {
      const isTime = isTimeInput(attributesOrTime);
      this.#events.push({
        name,
        time: toTime(isTime ? attributesOrTime : time),
        attributes: isTime ? undefined : copyAttributes(attributesOrTime),
      });
    }
    return this;
  }

  addLink({ context, attributes }: Link): this {
    if (this.#isRecording) {
      this.#links.push({ traceId: context.traceId, spanId: context.spanId, attributes });
    }
    return this;
  }

  addLinks(links: readonly Link[]): this {
    for (const link of links) {
      this.addLink(link);
    }
    return this;
  }

  setStatus({ code, message }: SpanStatus): this {
    if (this.#isRecording) {
      this.#data.status = { code, message };
    }
    return this;
  }

  updateName(name: string): this {
    if (this.#isRecording) {
      this.#data.name = name;
    }
    return this;
  }

  end(endTime?: TimeInput): void {
    if (!this.#isRecording) {
      return;
    }
    this.#isRecording = false;
    const { traceId, spanId } = this.#context;
    const ended: EndedSpan = {
      ...this.#data,
      traceId,
      spanId,
      endTime: toTime(endTime),
      traceState: undefined,
      attributes: this.#attributes,
      events: this.#events,
      links: this.#links,
      resource: {},
    };
    if (isRecordedSpan(this)) {
      this.#runs.leaveOut(ended);
    } else {
      this.#runs.end(ended);
    }
  }

  isRecording(): boolean {
    return this.#isRecording;
  }

  recordException(exception: Exception, time?: TimeInput): void {
    const thrown: Partial<Exclude<Exception, string>> =
      typeof exception === "string" ? { message: exception } : exception;
    const { code, name, message, stack } = thrown;
    const attributes = {
      "exception.type": code === undefined ? name : String(code),
      "exception.message": message,
      "exception.stacktrace": stack,
    };
    this.addEvent("exception", withoutUndefined(attributes), time);
  }
}

/** Copies attributes. If reading them throws, returns one attribute with the reason instead. */
function copyAttributes(attributes: Attributes | undefined): Attributes {
  try {
    return { ...attributes };
  } catch (error) {
    const reason = error instanceof Error ? error.message : "unknown";
    return { millrace_error: `The attributes could not be read: ${reason}` };
  }
}

const withoutUndefined = (members: Readonly<Record<string, string | undefined>>): Attributes =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));

const randomHex = (bytes: number): string => randomBytes(bytes).toString("hex");

const isTimeInput = (value: unknown): value is TimeInput =>
  typeof value === "number" || Array.isArray(value) || value instanceof Date;

/**
 * Converts a time to the format of OpenTelemetry's SDK. A number is milliseconds, either since the Unix epoch or since
 * the process started.
 */
function toTime(time: TimeInput | undefined): SpanTime {
  if (Array.isArray(time)) {
    return time;
  }
  const now = performance.timeOrigin + performance.now();
  const millis = time instanceof Date ? time.getTime() : (time ?? now);
  const epochMillis =
    millis < performance.timeOrigin && millis < now - performance.timeOrigin + clockToleranceMs
      ? performance.timeOrigin + millis
      : millis;
  const seconds = Math.floor(epochMillis / 1_000);
  return [seconds, Math.round((epochMillis - seconds * 1_000) * 1_000_000)];
}

/**
 * A number counts as milliseconds since the process started if the resulting time is at most this many milliseconds in
 * the future.
 */
const clockToleranceMs = 60_000;

/**
 * The part of OpenTelemetry's API object that is used here. OpenTelemetry's packages share the object in a global
 * variable.
 */
interface OpenTelemetryApi {
  readonly context?: ContextManager;
}

interface ContextManager {
  active(): Context;
  with(context: Context, fn: () => unknown): unknown;
}

const apiKey = Symbol.for("opentelemetry.js.api.1");
/** The key under which the API stores the active span in a context. */
const spanKey = Symbol.for("OpenTelemetry Context Key SPAN");

const findManager = (): ContextManager | undefined =>
  (Reflect.get(globalThis, apiKey) as OpenTelemetryApi | undefined)?.context;

/** Returns the span of the given context, or of the active context. */
function findParent(context: Context | undefined): SpanContext | undefined {
  const active = context ?? findManager()?.active();
  const span = active?.getValue(spanKey) as Span | undefined;
  return span?.spanContext();
}

/** Calls `fn` with the span as the active span, if the program has set a context manager. */
function callInContext(span: Span, fn: () => unknown): unknown {
  const manager = findManager();
  return manager === undefined ? fn() : manager.with(manager.active().setValue(spanKey, span), fn);
}

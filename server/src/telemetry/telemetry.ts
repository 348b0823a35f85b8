/** Attributes of a span. They never contain payloads, paths, query strings, headers or keys. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** A span that has begun. */
export interface OpenSpan {
  /** Calls a function, and makes the span the parent of the calls that follow from it. */
  run<Result>(work: () => Result): Result;
  /**
   * Ends the span with further attributes.
   *
   * @param outcome.errorType - what failed, such as a status or the name of an error; absent if nothing did
   */
  end(outcome: {
    readonly attributes: SpanAttributes;
    readonly errorType?: string | undefined;
  }): void;
}

/** A request to record as a span. If its headers name a span of the client, that span becomes the parent. */
export interface TracedRequest {
  readonly name: string;
  readonly attributes: SpanAttributes;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** What is recorded about a call or about a part of a job. */
export interface TracedCall {
  readonly name: string;
  readonly attributes: SpanAttributes;
}

/** How many spans of this server were sent and dropped since it was started. */
export interface SpanCounts {
  readonly exported: number;
  /** Spans that were dropped because too many waited, or because the receiver did not accept them. */
  readonly dropped: number;
}

/**
 * Records what the server itself does as spans of OpenTelemetry. Only a server with the option `otelEndpoint` does so.
 */
export interface Telemetry {
  /** Begins the span of a request. */
  startRequest(request: TracedRequest): OpenSpan;
  /** Records a call as a child of the current span. Without a current span, only makes the call. */
  traceCall<Result>(call: TracedCall, makeCall: () => Promise<Result>): Promise<Result>;
  /** Records work that no request waits for, as the root span of a trace. */
  traceWork<Result>(work: TracedCall, perform: () => Promise<Result>): Promise<Result>;
  readonly counts: SpanCounts;
  /** Sends the spans that wait, for a limited time. */
  close(): Promise<void>;
}

/** The settings of {@link Telemetry}. */
export interface TelemetrySettings {
  /** URL to which `/v1/traces` is added. */
  readonly endpoint: string;
}

/** Limits of the server's own spans. */
export const telemetryLimits = {
  /** Spans that wait until they are sent. Further ones are dropped and counted. */
  waitingSpans: 4_096,
  /** Spans of one request to the receiver. */
  batchSpans: 512,
  /** Milliseconds for sending one batch, with all its attempts. */
  exportMs: 10_000,
  /** Milliseconds for which a closing server waits until its last spans are sent. */
  closeMs: 2_000,
  /** Calls of one request, or of one step of a job, that become spans. Further ones are counted in an attribute. */
  callsOfSpan: 128,
  /** Milliseconds between two warnings that spans could not be sent. */
  warningMs: 60_000,
} as const;

/**
 * The header with which a server sends its own spans. A server that receives it records no span of that request:
 * otherwise, a server that sends its spans to itself would create further spans forever.
 */
export const ownSpansHeader = "x-millrace-server-spans";

/** The value of an attribute. Integers beyond 2^53 are `bigint`; bytes are base64 texts. */
export type AttributeValue =
  | null
  | string
  | number
  | bigint
  | boolean
  | readonly AttributeValue[]
  | AttributeObject;

/** An object without a prototype, so that `__proto__` is an ordinary name in it. */
export interface AttributeObject {
  readonly [name: string]: AttributeValue;
}

/** Attributes by name. If a span has several attributes with one name, the last one is used. */
export type Attributes = ReadonlyMap<string, AttributeValue>;

export interface SpanEvent {
  readonly name: string;
  readonly nanos: bigint;
  readonly attributes: Attributes;
}

/** A link as OpenTelemetry has it: to a related span that is not the parent and may belong to another trace. */
export interface SpanLink {
  readonly traceId: string;
  readonly spanId: string;
  readonly attributes: Attributes;
}

/** A decoded span. Ids are lowercase hexadecimal digits; times are nanoseconds since the Unix epoch. */
export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for a root span. */
  readonly parentSpanId: string;
  readonly name: string;
  /** `SERVER`, `CLIENT`, ...; empty if unspecified. */
  readonly kind: string;
  readonly startNanos: bigint;
  readonly endNanos: bigint;
  /** Whether the exporter has marked the parent as a span of another process. */
  readonly hasRemoteParent: boolean;
  readonly traceState: string;
  readonly attributes: Attributes;
  readonly events: readonly SpanEvent[];
  readonly links: readonly SpanLink[];
  /** Whether the status is ERROR. */
  readonly isError: boolean;
  /** Whether the status is OK. A status that is not set is neither. */
  readonly isOk: boolean;
  readonly statusMessage: string;
  readonly resource: Attributes;
  readonly scopeName: string;
  readonly scopeVersion: string;
  /** What could not be decoded. The other values of the span are valid. */
  readonly warnings: readonly string[];
}

/** Why a span was rejected. */
export interface SpanError {
  readonly reason: string;
}

/** What a request contained. A span that can't be read does not prevent the others from being recorded. */
export interface DecodedSpans {
  readonly spans: readonly Span[];
  readonly spanErrors: readonly SpanError[];
}

/** A value of an attribute. Whole numbers beyond 2^53 are `bigint`; bytes are base64 texts. */
export type AttributeValue =
  | null
  | string
  | number
  | bigint
  | boolean
  | readonly AttributeValue[]
  | AttributeObject;

/** Without a prototype: a name such as `__proto__` is a name like any other. */
export interface AttributeObject {
  readonly [name: string]: AttributeValue;
}

/** Attributes by name; of equal names the last one counts. */
export type Attributes = ReadonlyMap<string, AttributeValue>;

export interface SpanEvent {
  readonly name: string;
  readonly nanos: bigint;
  readonly attributes: Attributes;
}

export interface SpanLink {
  readonly traceId: string;
  readonly spanId: string;
  readonly attributes: Attributes;
}

/** A span as both encodings carry it. Ids are lower-case hexadecimal digits, times nanoseconds. */
export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for a root. */
  readonly parentSpanId: string;
  readonly name: string;
  /** `SERVER`, `CLIENT`, ...; empty where it was not said. */
  readonly kind: string;
  readonly startNanos: bigint;
  readonly endNanos: bigint;
  /** True where the exporter said that the parent is in another process. */
  readonly hasRemoteParent: boolean;
  readonly traceState: string;
  readonly attributes: Attributes;
  readonly events: readonly SpanEvent[];
  readonly links: readonly SpanLink[];
  readonly isError: boolean;
  readonly statusMessage: string;
  readonly resource: Attributes;
  readonly scopeName: string;
  readonly scopeVersion: string;
}

/** A span that can't be taken, and why. */
export interface SpanFault {
  readonly reason: string;
}

/** What one request brought. */
export interface DecodedSpans {
  readonly spans: readonly Span[];
  readonly faults: readonly SpanFault[];
}

// The exports that the local server uses: it receives spans in the encodings of OTLP, converts them to runs and stores
// the runs.
export { toJson } from "./json-text.ts";
export { mapSpan } from "./map-span.ts";
export type { MappedSpan } from "./map-span.ts";
export type {
  AttributeObject,
  AttributeValue,
  Attributes,
  DecodedSpans,
  Span,
  SpanError,
  SpanEvent,
  SpanLink,
} from "./span.ts";
export type { SpanRecord } from "./span-position.ts";
export { SpanWarnings } from "./span-warnings.ts";

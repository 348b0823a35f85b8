import type { Span } from "./span.ts";

/** Sorts spans so that parents precede their children. Clients send spans in the order in which they ended. */
export function sortParentsFirst(spans: readonly Span[]): readonly Span[] {
  const byId = new Map(spans.map((span) => [keyOf(span.traceId, span.spanId), span]));
  const sorted = new Set<Span>();
  for (const span of spans) {
    const path: Span[] = [];
    const seen = new Set<Span>();
    let next: Span | undefined = span;
    while (next !== undefined && !sorted.has(next) && !seen.has(next)) {
      path.push(next);
      seen.add(next);
      next = byId.get(keyOf(next.traceId, next.parentSpanId));
    }
    path.toReversed().forEach((pathSpan) => sorted.add(pathSpan));
  }
  return [...sorted];
}

const keyOf = (traceId: string, spanId: string): string => traceId + spanId;

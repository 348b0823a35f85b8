import type { Span } from "./span.ts";

/**
 * Sorts spans so that parents precede their children, because clients send spans in the order in which they ended.
 */
export function sortParentsFirst(spans: readonly Span[]): readonly Span[] {
  const byId = new Map(spans.map((span) => [createKey(span.traceId, span.spanId), span]));
  const sorted = new Set<Span>();
  for (const span of spans) {
    const path: Span[] = [];
    const visited = new Set<Span>();
    let next: Span | undefined = span;
    while (next !== undefined && !sorted.has(next) && !visited.has(next)) {
      path.push(next);
      visited.add(next);
      next = byId.get(createKey(next.traceId, next.parentSpanId));
    }
    path.toReversed().forEach((pathSpan) => sorted.add(pathSpan));
  }
  return [...sorted];
}

const createKey = (traceId: string, spanId: string): string => traceId + spanId;

import type { Span } from "millrace/spans";

/**
 * Sorts spans so that parents precede their children, because clients send spans in the order in which they ended.
 */
export function sortParentsFirst(spans: readonly Span[]): readonly Span[] {
  const spansByKey = new Map(spans.map((span) => [createKey(span.traceId, span.spanId), span]));
  const sorted = new Set<Span>();
  for (const span of spans) {
    const path: Span[] = [];
    const visited = new Set<Span>();
    let ancestor: Span | undefined = span;
    while (ancestor !== undefined && !sorted.has(ancestor) && !visited.has(ancestor)) {
      path.push(ancestor);
      visited.add(ancestor);
      ancestor = spansByKey.get(createKey(ancestor.traceId, ancestor.parentSpanId));
    }
    path.toReversed().forEach((pathSpan) => sorted.add(pathSpan));
  }
  return [...sorted];
}

const createKey = (traceId: string, spanId: string): string => traceId + spanId;

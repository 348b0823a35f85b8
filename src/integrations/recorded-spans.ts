/**
 * Spans of OpenTelemetry whose work is recorded as a run by other means. A span processor that records spans as runs leaves
 * them out. Copies of this package share the set.
 */
const recordedSpans = findRecordedSpans();

function findRecordedSpans(): WeakSet<object> {
  const key = Symbol.for("millrace.recordedSpans");
  const shared: unknown = Reflect.get(globalThis, key);
  if (shared instanceof WeakSet) {
    return shared;
  }
  const created = new WeakSet();
  Reflect.set(globalThis, key, created);
  return created;
}

/** Whether the work of a span is recorded as a run by other means. */
export const isRecordedSpan = (span: object): boolean => recordedSpans.has(span);

/** The part of OpenTelemetry's API that is used, which its packages share in a global variable. */
interface OpenTelemetryApi {
  readonly trace?: { getSpan?(context: unknown): unknown };
  readonly context?: { active?(): unknown };
}

/**
 * Marks the active span as recorded by other means, if a library with this instrumentation scope created it. Nothing
 * happens in a program without OpenTelemetry. Never throws.
 */
export function markActiveSpan(scope: string): void {
  try {
    const span = findActiveSpan();
    if (typeof span === "object" && span !== null && readScope(span)?.startsWith(scope) === true) {
      recordedSpans.add(span);
    }
  } catch {
    // A span or an API that throws is not ours to handle: at worst the call is recorded twice.
  }
}

const apiKey = Symbol.for("opentelemetry.js.api.1");
/** The key under which the API stores the active span in a context. */
const spanKey = Symbol.for("OpenTelemetry Context Key SPAN");

function findActiveSpan(): unknown {
  const api = Reflect.get(globalThis, apiKey) as OpenTelemetryApi | undefined;
  const context = api?.context?.active?.() as { getValue?(key: symbol): unknown } | undefined;
  return context?.getValue?.(spanKey);
}

/** The scope's name, as version 2 and version 1 of OpenTelemetry's SDK have it. */
function readScope(span: object): string | undefined {
  const scope: unknown =
    Reflect.get(span, "instrumentationScope") ?? Reflect.get(span, "instrumentationLibrary");
  const name: unknown =
    typeof scope === "object" && scope !== null ? Reflect.get(scope, "name") : undefined;
  return typeof name === "string" ? name : undefined;
}

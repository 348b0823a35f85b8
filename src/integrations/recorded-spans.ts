/**
 * OpenTelemetry spans whose work another integration already records as a run. A span processor that records spans as
 * runs leaves them out. All copies of this package in a process share this set.
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

/** Whether another integration already records the work of a span as a run. */
export const isRecordedSpan = (span: object): boolean => recordedSpans.has(span);

/**
 * The part of OpenTelemetry's API object that is used here. OpenTelemetry's packages share the object in a global
 * variable.
 */
interface OpenTelemetryApi {
  readonly trace?: { getSpan?(context: unknown): unknown };
  readonly context?: { active?(): unknown };
}

/**
 * Marks the active span as already recorded, if a library created it whose instrumentation scope begins with `scope`.
 * Does nothing in a program without OpenTelemetry. Never throws.
 */
export function markActiveSpan(scope: string): void {
  try {
    const span = findActiveSpan();
    if (typeof span === "object" && span !== null && readScope(span)?.startsWith(scope) === true) {
      recordedSpans.add(span);
    }
  } catch {
    // If the span or OpenTelemetry's API throws, the span is not marked. At worst, the call is recorded twice.
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

/**
 * Reads the name of a span's instrumentation scope, whose member is named differently in versions 2 and 1 of
 * OpenTelemetry's SDK.
 */
function readScope(span: object): string | undefined {
  const scope: unknown =
    Reflect.get(span, "instrumentationScope") ?? Reflect.get(span, "instrumentationLibrary");
  const name: unknown =
    typeof scope === "object" && scope !== null ? Reflect.get(scope, "name") : undefined;
  return typeof name === "string" ? name : undefined;
}

import { toAttribute } from "./gen-ai-attributes.ts";
import { firstText, isObject, toItems, toMembers } from "./json-value.ts";
import type { Members } from "./json-value.ts";
import type { SpanAttributes } from "./protobuf-writer.ts";
import { toNanos } from "./span-run.ts";
import type { SpanRun } from "./span-run.ts";

export interface SpanEvent {
  readonly name: string;
  readonly nanos: bigint;
  readonly attributes: SpanAttributes;
}

/** A link to another span. Ids are hexadecimal digits. */
export interface SpanLink {
  readonly traceId: string;
  readonly spanId: string;
  readonly attributes: SpanAttributes;
}

/** Converts the events of a run. The run's error becomes an event `exception` at the end of the run. */
export function toSpanEvents(run: SpanRun): readonly SpanEvent[] {
  const events = toItems(run.parse("events"))
    .filter(isObject)
    .map(({ name, time, kwargs, ...otherMembers }): SpanEvent => ({
      name: firstText(name) ?? "event",
      nanos: toEventNanos(time, run),
      attributes: toAttributes({ ...toMembers(kwargs), ...otherMembers }),
    }));
  const error = run.parse("error");
  return typeof error === "string" && error !== ""
    ? [...events, { name: "exception", nanos: run.endNanos, attributes: toException(error) }]
    : events;
}

/** Returns the time of an event; for an event without a valid time, the start of its run. */
function toEventNanos(time: unknown, run: SpanRun): bigint {
  try {
    return toNanos("time", time);
  } catch {
    return run.startNanos;
  }
}

/** Separates the text of an error into type, message and stack, as far as it has them. */
function toException(error: string): SpanAttributes {
  const [firstLine = ""] = error.split("\n", 1);
  const [, type, message] = /^([A-Za-z_$][\w$.]*): (.*)$/.exec(firstLine) ?? [];
  return new Map([
    ...(type === undefined ? [] : [["exception.type", type] as const]),
    ["exception.message", message ?? firstLine] as const,
    ["exception.stacktrace", error] as const,
  ]);
}

/** Converts the links of a run that was a span before, such as one of another OpenTelemetry library. */
export const toSpanLinks = (run: SpanRun): readonly SpanLink[] =>
  toItems(run.extra["links"])
    .filter(isObject)
    .flatMap(({ trace_id: traceId, span_id: spanId, attributes }) =>
      isId(traceId, 32) && isId(spanId, 16)
        ? [{ traceId, spanId, attributes: toAttributes(toMembers(attributes)) }]
        : [],
    );

const isId = (id: unknown, digits: number): id is string =>
  typeof id === "string" && id.length === digits && /^[\da-f]+$/i.test(id);

const toAttributes = (members: Members): SpanAttributes =>
  new Map(
    Object.entries(members).flatMap(([name, value]) => {
      const attribute = toAttribute(value);
      return attribute === undefined ? [] : [[name, attribute] as const];
    }),
  );

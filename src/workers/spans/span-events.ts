import { toIso } from "../../model/iso-time.ts";
import type { AttributeBag } from "./attribute-bag.ts";
import type { Span } from "./span.ts";

type Members = Readonly<Record<string, unknown>>;

/** The event of a run from which the time of the first token is read. */
const firstTokenEvent = "new_token";

/** Names of events that libraries record when the first chunk of a response arrives. */
const firstChunkEvents = [
  "ai.stream.firstChunk",
  "First Token Stream Event",
  "llm.content.completion.chunk",
];

/** Attributes with the time from the start of a span to the first chunk, and their unit in nanoseconds. */
const firstChunkAttributes: readonly (readonly [string, number])[] = [
  ["gen_ai.response.time_to_first_chunk", 1e9],
  ["gen_ai.server.time_to_first_token", 1e9],
  ["ai.response.msToFirstChunk", 1e6],
  ["ai.stream.msToFirstChunk", 1e6],
];

/** How far a time may be after the span's end: a library may use a different clock than the span. */
const clockToleranceNanos = 1_000_000_000n;

/**
 * Converts events of a span to events of a run: name, time and attributes. If the span reports when the first chunk of
 * its response arrived, an event `new_token` at that time is added. Returns `undefined` if there are no events.
 */
export function toEvents(span: Span, bag: AttributeBag): readonly Members[] | undefined {
  const events = span.events.map(({ name, nanos, attributes }) =>
    createEvent(name, nanos, Object.fromEntries(attributes)),
  );
  const hasFirstTokenEvent = span.events.some(({ name }) => name === firstTokenEvent);
  const firstToken = hasFirstTokenEvent ? undefined : findFirstToken(span, bag);
  const allEvents =
    firstToken === undefined ? events : [createEvent(firstTokenEvent, firstToken, {}), ...events];
  return allEvents.length === 0 ? undefined : allEvents;
}

const createEvent = (name: string, nanos: bigint, kwargs: Members): Members => ({
  name,
  time: toIso(Number(nanos / 1_000n)),
  kwargs,
});

function findFirstToken(span: Span, bag: AttributeBag): bigint | undefined {
  const event = span.events.find(({ name }) => firstChunkEvents.includes(name));
  if (event !== undefined && event.nanos > 0n) {
    return event.nanos;
  }
  for (const [name, unitNanos] of firstChunkAttributes) {
    const value = bag.peek(name);
    const duration = typeof value === "number" ? value * unitNanos : Number.NaN;
    const time = toTime(span, duration);
    if (time !== undefined) {
      return time;
    }
    if (value !== undefined) {
      bag.warn(name, "is not a time within the span", value);
    }
  }
  return undefined;
}

/** Converts an offset from the start of a span to a time. Returns `undefined` if the time is not within the span. */
function toTime({ startNanos, endNanos }: Span, offsetNanos: number): bigint | undefined {
  if (startNanos === 0n || !(offsetNanos >= 0) || offsetNanos > Number.MAX_SAFE_INTEGER) {
    return undefined;
  }
  const time = startNanos + BigInt(Math.round(offsetNanos));
  if (endNanos === 0n || time <= endNanos) {
    return time;
  }
  return time <= endNanos + clockToleranceNanos ? endNanos : undefined;
}

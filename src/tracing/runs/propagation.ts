import { parseDottedOrder, stampToMicros } from "../../model/dotted-order.ts";
import type { DottedOrder } from "../../model/dotted-order.ts";
import { formatBaggage, parseBaggage } from "./baggage.ts";
import type { Baggage } from "./baggage.ts";
import type { Recorder } from "../tape/recorder.ts";

/** Headers of any make: a `Headers`, a `Map`, Node's incoming headers, a plain object. */
export type HeadersLike =
  | { forEach(each: (value: string, name: string) => void): void }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** Where a run is that was started elsewhere: in another process, or by another library. */
export interface RemotePosition {
  readonly id: string;
  readonly traceId: string;
  readonly parentRunId: string | undefined;
  readonly dottedOrder: string;
  readonly startMicros: number;
}

/** What the headers of a request say of the run that sent it. */
export interface RemoteContext extends Baggage {
  readonly position: RemotePosition;
}

/** What a run puts into headers. */
export interface SentRun extends Baggage {
  readonly dottedOrder: string;
}

const traceHeader = "langsmith-trace";
const baggageHeader = "baggage";
/** Longest dotted order that is read: 141 generations. */
const traceLimit = 8_192;
/** Longest baggage that is read: twice what the W3C specification requires everyone to support. */
const baggageLimit = 16_384;

/** Reads the two headers. Never throws: malformed entries are reported and ignored. */
export function readHeaders(
  headers: HeadersLike,
  onMalformed: (message: string) => void,
): RemoteContext | undefined {
  const found = collect(headers, onMalformed);
  const trace = found.get(traceHeader)?.trim();
  if (trace === undefined || trace === "") {
    return undefined;
  }
  const position = parsePosition(trace);
  if (position === undefined) {
    onMalformed(`A ${traceHeader} header is no dotted order; it was ignored.`);
    return undefined;
  }
  const baggage = found.get(baggageHeader) ?? "";
  if (baggage.length > baggageLimit) {
    onMalformed(`A ${baggageHeader} header is too long; it was ignored.`);
    return { position, tags: undefined, metadata: undefined, projectName: undefined };
  }
  return { position, ...parseBaggage(baggage, onMalformed) };
}

/** The existing headers, with the two of a run set. Never throws. */
export function writeHeaders(
  run: SentRun,
  existing: HeadersLike | undefined,
  onOmitted: (message: string) => void,
): Record<string, string> {
  const found = existing === undefined ? new Map<string, string>() : collect(existing, onOmitted);
  const baggage = formatBaggage(run, found.get(baggageHeader) ?? "", onOmitted);
  found.set(traceHeader, run.dottedOrder);
  if (baggage === "") {
    found.delete(baggageHeader);
  } else {
    found.set(baggageHeader, baggage);
  }
  return Object.fromEntries(found);
}

/** Parses a dotted order into the run's position; `undefined` where it is malformed. */
export function parsePosition(dottedOrder: string): RemotePosition | undefined {
  if (dottedOrder.length > traceLimit) {
    return undefined;
  }
  let parsed: DottedOrder;
  try {
    parsed = parseDottedOrder(dottedOrder);
  } catch {
    // The caller counts it as malformed.
    return undefined;
  }
  const stamp = parsed.segments.at(-1)?.stamp ?? "";
  return {
    id: parsed.runId,
    traceId: parsed.traceId,
    parentRunId: parsed.parentRunId,
    dottedOrder,
    startMicros: stampToMicros(stamp),
  };
}

/** Every header by its name in small letters, several values of one as a list. */
function collect(
  headers: HeadersLike,
  onMalformed: (message: string) => void,
): Map<string, string> {
  const found = new Map<string, string>();
  const add = (name: string, value: unknown): void => {
    const key = name.toLowerCase();
    const text = Array.isArray(value) ? value.join(",") : value;
    if (typeof text === "string") {
      const before = found.get(key);
      found.set(key, before === undefined ? text : `${before},${text}`);
    }
  };
  try {
    if (typeof headers.forEach === "function") {
      headers.forEach((value: unknown, name: string) => {
        add(name, value);
      });
    } else {
      for (const [name, value] of Object.entries(headers)) {
        add(name, value);
      }
    }
  } catch {
    onMalformed("The headers can't be read; they were ignored.");
  }
  return found;
}

/** Counts headers that are malformed as a warning. */
export const malformed = (recording: Recorder) => (message: string) =>
  recording.warn("malformedHeaders", message);

import { parseDottedOrder, stampToMicros } from "../../model/dotted-order.ts";
import type { DottedOrder } from "../../model/dotted-order.ts";
import { formatBaggage, parseBaggage } from "./baggage.ts";
import type { Baggage } from "./baggage.ts";
import type { Recorder } from "../tape/recorder.ts";

/** Request headers as a `Headers`, a `Map`, Node's incoming headers or a plain object. */
export type HeadersLike =
  | { forEach(each: (value: string, name: string) => void): void }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** A run's position in its trace. The run was started in another process or by another library. */
export interface RemotePosition {
  readonly id: string;
  readonly traceId: string;
  readonly parentRunId: string | undefined;
  readonly dottedOrder: string;
  readonly startMicros: number;
}

/** The run that sent a request, as read from the request's headers. */
export interface RemoteContext extends Baggage {
  readonly position: RemotePosition;
}

/** The data of a run that is written into request headers. */
export interface PropagatedRun extends Baggage {
  readonly dottedOrder: string;
}

const traceHeader = "langsmith-trace";
const baggageHeader = "baggage";
/** Longest dotted order that is accepted, in characters. It is enough for a run with 137 ancestors. */
const maxOrderLength = 8_192;
/**
 * Longest baggage header that is accepted, in characters. It is twice the size that the W3C specification requires all
 * implementations to support.
 */
const maxBaggageLength = 16_384;

/** Reads the headers `langsmith-trace` and `baggage`. Never throws: malformed values are reported and ignored. */
export function readHeaders(
  headers: HeadersLike,
  onMalformed: (message: string) => void,
): RemoteContext | undefined {
  const valuesByName = readAllHeaders(headers, onMalformed);
  const trace = valuesByName.get(traceHeader)?.trim();
  if (trace === undefined || trace === "") {
    return undefined;
  }
  const position = parsePosition(trace);
  if (position === undefined) {
    onMalformed(`A ${traceHeader} header is not a valid dotted order; it was ignored.`);
    return undefined;
  }
  const baggage = valuesByName.get(baggageHeader) ?? "";
  if (baggage.length > maxBaggageLength) {
    onMalformed(
      `A ${baggageHeader} header is longer than ${maxBaggageLength} characters; it was ignored.`,
    );
    return { position, tags: undefined, metadata: undefined, projectName: undefined };
  }
  return { position, ...parseBaggage(baggage, onMalformed) };
}

/**
 * Returns the existing headers together with the headers that describe `run`. A header of `run` replaces an existing
 * one of the same name; only the header `baggage` keeps the existing entries of other vendors. Never throws.
 */
export function writeHeaders(
  run: PropagatedRun,
  existing: HeadersLike | undefined,
  onOmitted: (message: string) => void,
): Record<string, string> {
  const valuesByName =
    existing === undefined ? new Map<string, string>() : readAllHeaders(existing, onOmitted);
  const baggage = formatBaggage(run, valuesByName.get(baggageHeader) ?? "", onOmitted);
  valuesByName.set(traceHeader, run.dottedOrder);
  if (baggage === "") {
    valuesByName.delete(baggageHeader);
  } else {
    valuesByName.set(baggageHeader, baggage);
  }
  return Object.fromEntries(valuesByName);
}

/** Parses a dotted order into the run's position. Returns `undefined` if it is malformed. */
export function parsePosition(dottedOrder: string): RemotePosition | undefined {
  if (dottedOrder.length > maxOrderLength) {
    return undefined;
  }
  let parsed: DottedOrder;
  try {
    parsed = parseDottedOrder(dottedOrder);
  } catch {
    // The caller handles a malformed dotted order.
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

/** Returns all headers by lower-case name. Several values of one header are joined by commas. */
function readAllHeaders(
  headers: HeadersLike,
  onMalformed: (message: string) => void,
): Map<string, string> {
  const valuesByName = new Map<string, string>();
  const add = (name: string, value: unknown): void => {
    const key = name.toLowerCase();
    const text = Array.isArray(value) ? value.join(",") : value;
    if (typeof text === "string") {
      const previous = valuesByName.get(key);
      valuesByName.set(key, previous === undefined ? text : `${previous},${text}`);
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
    onMalformed("The headers of a request can't be read; they were ignored.");
  }
  return valuesByName;
}

/** Returns a callback that counts and logs a malformed header as a warning. */
export const warnMalformed = (runRecorder: Recorder) => (message: string) =>
  runRecorder.warn("malformedHeaders", message);

import { RunTree } from "../../main/index.ts";
import type { ClientChoice } from "../../main/index.ts";

/**
 * The members of `_meta` that contain a position in a trace. Peers with OpenTelemetry use `traceparent` (W3C Trace
 * Context). Peers with Millrace or LangSmith use the other two, with the same values as the HTTP headers of these
 * names.
 */
const [traceparentKey, runKey, baggageKey] = ["traceparent", "langsmith-trace", "baggage"] as const;

/** The object `_meta` of a message. */
type Meta = Readonly<Record<string, unknown>>;

/** Whether the tags and the metadata of runs are sent to the peer. */
interface SendOptions {
  readonly sendsMetadata: boolean;
}

/**
 * Returns a copy of `meta` that also contains the trace context of `run`. With it, the runs that the peer records while
 * it handles the request become children of `run`. A `traceparent` of another library, and the entries of other vendors
 * in `baggage`, are kept.
 */
export function writeTraceContext(run: RunTree, meta: Meta, { sendsMetadata }: SendOptions): Meta {
  const existing = meta[baggageKey];
  const headers = run.toHeaders(typeof existing === "string" ? { [baggageKey]: existing } : {});
  const { [runKey]: position, [baggageKey]: baggage } = headers;
  const sentBaggage = sendsMetadata ? baggage : withoutMetadata(baggage);
  return {
    [traceparentKey]: formatTraceparent(run),
    ...meta,
    [runKey]: position,
    ...(sentBaggage === undefined ? {} : { [baggageKey]: sentBaggage }),
  };
}

/** Reads the run or span that the sender of a request identifies in `_meta`; `undefined` if there is none. */
export function readTraceContext(
  meta: Meta,
  client: ClientChoice | undefined,
): RunTree | undefined {
  const options = client && { client };
  const { [runKey]: position, [baggageKey]: baggage, [traceparentKey]: traceparent } = meta;
  if (typeof position === "string") {
    const headers = { [runKey]: position };
    const run = RunTree.fromHeaders(
      typeof baggage === "string" ? { ...headers, [baggageKey]: baggage } : headers,
      options,
    );
    if (run !== undefined) {
      return run;
    }
  }
  const order = typeof traceparent === "string" ? toDottedOrder(traceparent) : undefined;
  return order === undefined ? undefined : RunTree.fromHeaders({ [runKey]: order }, options);
}

/**
 * Removes the tags and the metadata of runs from a `baggage` header. The project is kept, because the trace needs it.
 */
function withoutMetadata(baggage: string | undefined): string | undefined {
  const entries = baggage
    ?.split(",")
    .filter((entry) => !/^\s*langsmith-(metadata|tags)=/.test(entry));
  return entries === undefined || entries.length === 0 ? undefined : entries.join(",");
}

/** Formats a `traceparent` with the id of the run's trace, and the last 8 bytes of the run's id as the span id. */
function formatTraceparent({ traceId, id, sampled }: RunTree): string {
  const [traceHex, idHex] = [traceId, id].map((uuid) => uuid.replaceAll("-", "").toLowerCase());
  return `00-${traceHex}-${idHex?.slice(16)}-${sampled ? "01" : "00"}`;
}

/**
 * Converts a `traceparent` to the dotted order of the run that Millrace's server creates for the span (docs/otlp.md,
 * "Ids and tree structure"). The start times of the span and of the trace are unknown, so the current time is used for
 * both. Returns `undefined` if the text is malformed.
 */
function toDottedOrder(traceparent: string): string | undefined {
  // Later versions than 00 may have more fields. Version ff is invalid.
  const pattern =
    /^(?:00|(?!00|ff)[\da-f]{2}(?=.{53}(?:-|$)))-([\da-f]{32})-([\da-f]{16})-[\da-f]{2}/;
  const [text = "", traceId = "", spanId = ""] = pattern.exec(traceparent) ?? [];
  const isComplete = text.length === traceparent.length || !traceparent.startsWith("00");
  if (text === "" || !isComplete || /^0+$/.test(traceId) || /^0+$/.test(spanId)) {
    return undefined;
  }
  const [high = 0n, low = 0n] = [traceId.slice(0, 16), traceId.slice(16)].map((half) =>
    BigInt(`0x${half}`),
  );
  const spanHex = (high ^ low).toString(16).padStart(16, "0") + spanId;
  const stamp = new Date()
    .toISOString()
    .replaceAll(/[-:]/g, "")
    .replace(".", "")
    .replace("Z", "000Z");
  return [traceId, spanHex].map((hex) => stamp + toUuid(hex)).join(".");
}

const toUuid = (hex: string): string =>
  [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join(
    "-",
  );

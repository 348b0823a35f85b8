import { RunTree } from "../../main/index.ts";
import type { TracingClient } from "../../main/index.ts";

/**
 * The members of `_meta` that carry a position in a trace. OpenTelemetry's peers read and write `traceparent` (W3C Trace
 * Context); Millrace's and LangSmith's use the two others, whose values are those of the headers of the same names.
 */
const [traceparentKey, runKey, baggageKey] = ["traceparent", "langsmith-trace", "baggage"] as const;

/** Any value of `_meta` in a message. */
type Meta = Readonly<Record<string, unknown>>;

/** Whether the tags and the metadata of runs are sent to the peer. */
interface SendOptions {
  readonly sendsMetadata: boolean;
}

/**
 * Returns `meta` with members added that make `run` the parent of the runs with which the peer handles the request. A
 * `traceparent` of another library, and the entries of other vendors in `baggage`, are kept.
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

/** Reads the run, or the span, that the sender of a request names in `_meta`; `undefined` if it names none. */
export function readTraceContext(
  meta: Meta,
  client: TracingClient | undefined,
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

/** Removes the tags and the metadata of runs from a `baggage` header. The project stays, which a trace needs. */
function withoutMetadata(baggage: string | undefined): string | undefined {
  const entries = baggage
    ?.split(",")
    .filter((entry) => !/^\s*langsmith-(metadata|tags)=/.test(entry));
  return entries === undefined || entries.length === 0 ? undefined : entries.join(",");
}

/** The trace id is that of the run's trace, and the span id the last 8 bytes of the run's id. */
function formatTraceparent({ traceId, id, sampled }: RunTree): string {
  const [traceHex, idHex] = [traceId, id].map((uuid) => uuid.replaceAll("-", "").toLowerCase());
  return `00-${traceHex}-${idHex?.slice(16)}-${sampled ? "01" : "00"}`;
}

/**
 * Converts a `traceparent` to the dotted order of the run that Millrace's server makes of the span (docs/otlp.md, "Ids and
 * tree structure"). The start times of the span and of the trace are unknown, so they are the time of the call. Returns
 * `undefined` if the text is malformed.
 */
function toDottedOrder(traceparent: string): string | undefined {
  // Later versions may have further fields. Version ff is invalid.
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

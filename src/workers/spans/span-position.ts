import { parseDottedOrder } from "../../model/dotted-order.ts";
import { isUuid } from "../../model/ids.ts";
import { toSpanId, toSpanUuid, toTraceUuid } from "../../model/span-ids.ts";
import type { AttributeBag } from "./attribute-bag.ts";
import type { Span } from "./span.ts";

/**
 * The position of an OpenTelemetry span, as far as the span contains it: only the trace and the parent are known. The
 * ids are converted to UUIDs.
 */
export interface SpanRecord {
  readonly traceId: string;
  readonly id: string;
  /** `null` for a span without a parent, and for a span of kind `placed`. */
  readonly parentId: string | null;
  /**
   * `entry`: the parent is a span of another process. `placed`: the span's attributes contain its position in the
   * trace.
   */
  readonly kind: "root" | "entry" | "inner" | "placed";
}

/**
 * The position of a span in its trace: the members of the run that are already known, and the ids from which the
 * store determines the remaining ones.
 */
export interface SpanPosition {
  readonly members: Readonly<Record<string, unknown>>;
  readonly span: SpanRecord;
}

/**
 * Returns the position of a span. LangSmith attributes (`langsmith.*`) that contain a dotted order or a parent run take
 * precedence over the span's own ids, and are removed from the attributes.
 */
export function takePosition(span: Span, bag: AttributeBag): SpanPosition {
  const id = toSpanUuid(span.traceId, span.spanId);
  const commonMembers = { traceId: toTraceUuid(span.traceId), id };
  const suppliedMembers = takeSuppliedPosition(bag);
  if (suppliedMembers !== undefined) {
    return {
      members: { ...suppliedMembers, id: suppliedMembers["id"] ?? id },
      span: { ...commonMembers, kind: "placed", parentId: null },
    };
  }
  const parentSpanId = readParentId(span, bag);
  if (parentSpanId === "") {
    return { members: { id }, span: { ...commonMembers, kind: "root", parentId: null } };
  }
  return {
    members: { id },
    span: {
      ...commonMembers,
      kind: span.hasRemoteParent ? "entry" : "inner",
      parentId: toSpanUuid(span.traceId, parentSpanId),
    },
  };
}

function takeSuppliedPosition(bag: AttributeBag): Readonly<Record<string, unknown>> | undefined {
  const parentId = bag.peekText("langsmith.span.parent_id");
  const dottedOrder = readDottedOrder(bag.peekText("langsmith.span.dotted_order"));
  const parentRunId = isUuid(parentId) && toSpanId(parentId) === undefined ? parentId : undefined;
  if (dottedOrder === undefined && parentRunId === undefined) {
    return undefined;
  }
  const [id, traceId] = ["langsmith.span.id", "langsmith.trace.id"].map((name) => {
    const value = bag.takeText(name);
    return isUuid(value) ? value : undefined;
  });
  bag.take("langsmith.span.parent_id");
  bag.take("langsmith.span.dotted_order");
  return dottedOrder === undefined
    ? { id, trace_id: traceId, parent_run_id: parentRunId }
    : {
        id: dottedOrder.runId,
        trace_id: dottedOrder.traceId,
        dotted_order: dottedOrder.text,
        parent_run_id: dottedOrder.parentRunId,
      };
}

function readDottedOrder(text: string | undefined) {
  if (text === undefined) {
    return undefined;
  }
  try {
    return { text, ...parseDottedOrder(text) };
  } catch {
    return undefined; // It is malformed, so it is ignored, and the attribute stays in the metadata.
  }
}

/**
 * Returns the id of the parent span. A client that does not send all spans adds an attribute with the id of the nearest
 * ancestor that it does send.
 */
function readParentId(span: Span, bag: AttributeBag): string {
  const isRoot = bag.peek("langsmith.is_root");
  if (isRoot === true || isRoot === "true") {
    return "";
  }
  const parentId = bag.peekText("langsmith.span.parent_id");
  const parentSpanId =
    bag.peekText("langsmith.traceable_parent_otel_span_id") ??
    (parentId === undefined ? undefined : toSpanId(parentId));
  return parentSpanId !== undefined && /^[\da-f]{16}$/.test(parentSpanId)
    ? parentSpanId
    : span.parentSpanId;
}

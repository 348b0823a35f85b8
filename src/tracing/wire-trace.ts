import { stampLength, uuidLength } from "../model/dotted-order.ts";

/** The trace that a wire-shaped run is of: sampling keeps a trace whole. */
export function traceIdOf(id: unknown, run: unknown): string {
  if (typeof run === "object" && run !== null) {
    if ("trace_id" in run && typeof run.trace_id === "string") {
      return run.trace_id;
    }
    if ("dotted_order" in run && typeof run.dotted_order === "string") {
      return run.dotted_order.slice(stampLength, stampLength + uuidLength);
    }
  }
  return String(id);
}

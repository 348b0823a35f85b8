export { toIso } from "millrace/model";

/** Formats a cost for responses; `null` if it is unknown. */
export const toCostText = (cost: number | null | undefined): string | null =>
  typeof cost === "number" ? String(cost) : null;

import { isUuid } from "millrace/model";
import { RequestError } from "../model/errors.ts";
import type { RunPosition } from "./run-query.ts";

/**
 * Encodes the position of a page's last run as the cursor of the next page. The cursor contains the sort order, because
 * a position is valid only for one order.
 */
export const toCursor = ({ startMicros, id }: RunPosition, order: "asc" | "desc"): string =>
  Buffer.from(JSON.stringify([order, startMicros, id])).toString("base64url");

/**
 * Decodes a cursor that {@link toCursor} has created.
 *
 * @throws RequestError 422: the cursor was not returned by a query with this sort order.
 */
export function parseCursor(cursor: string, order: "asc" | "desc"): RunPosition {
  const [cursorOrder, startMicros, id] = parseList(
    Buffer.from(cursor, "base64url").toString("utf8"),
  );
  if (cursorOrder !== order || !Number.isSafeInteger(startMicros) || !isUuid(id)) {
    throw new RequestError(
      422,
      `cursor was not returned by this query: ${JSON.stringify(cursor)}; start again without a cursor`,
    );
  }
  return { startMicros: Number(startMicros), id };
}

function parseList(text: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : [];
  } catch {
    return []; // Not JSON: the caller rejects the cursor.
  }
}

import { isUuid } from "millrace/model";
import { createCursorError, readListCursor, toListCursor } from "../http/list-cursor.ts";
import type { RunPosition } from "./run-query.ts";

/**
 * Encodes the position of a page's last run as the cursor of the next page. The cursor contains the sort order, because
 * a position is valid only for one order.
 */
export const toCursor = ({ startMicros, id }: RunPosition, order: "asc" | "desc"): string =>
  toListCursor([order, startMicros, id]);

/**
 * Decodes a cursor that {@link toCursor} has created.
 *
 * @throws RequestError 422: the cursor was not returned by a query with this sort order.
 */
export function parseCursor(cursor: string, order: "asc" | "desc"): RunPosition {
  const [cursorOrder, startMicros, id] = readListCursor(cursor);
  if (cursorOrder !== order || !Number.isSafeInteger(startMicros) || !isUuid(id)) {
    throw createCursorError(cursor);
  }
  return { startMicros: Number(startMicros), id };
}

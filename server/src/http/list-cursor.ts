import { RequestError } from "../model/errors.ts";

/** Encodes the position at which a page of a list ended, as the cursor of the next page. */
export const toListCursor = (position: readonly (string | number)[]): string =>
  Buffer.from(JSON.stringify(position)).toString("base64url");

/** Decodes a cursor. Returns an empty list if it was not created by {@link toListCursor}. */
export function readListCursor(cursor: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
    return Array.isArray(value) ? value : [];
  } catch {
    return []; // It is not JSON.
  }
}

/** The error of a request with a cursor of another list, or of the same list in another order. */
export const createCursorError = (cursor: string): RequestError =>
  new RequestError(
    422,
    `cursor was not returned by this list: ${JSON.stringify(cursor.slice(0, 200))}; start again without a cursor`,
  );

import { ValidationError } from "../model/errors.ts";
import type { UploadSource } from "../model/resources/upload.ts";

/** What gives the rows of a source, one after another. */
export type RowIterator = AsyncIterator<unknown> | Iterator<unknown>;

/**
 * Begins to iterate a source. Call it before the first wait: the lines that `node:readline` reads before
 * its iterator exists are lost, and an iterator that is made after the last of them never ends.
 *
 * @throws {@link ValidationError} it can't be iterated.
 */
export function rowsOf(source: UploadSource<unknown>): RowIterator {
  if (typeof source === "object" && source !== null) {
    if (Symbol.asyncIterator in source) {
      return source[Symbol.asyncIterator]();
    }
    if (Symbol.iterator in source) {
      return source[Symbol.iterator]();
    }
  }
  throw new ValidationError("The source must be an array, a stream, or what else can be iterated");
}

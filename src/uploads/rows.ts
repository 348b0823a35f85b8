import { ValidationError } from "../model/errors.ts";
import type { UploadSource } from "../model/resources/upload.ts";

/** An iterator over the rows of a source. */
export type RowIterator = AsyncIterator<unknown> | Iterator<unknown>;

/**
 * Creates an iterator over a source. Call this function before the first `await`: `node:readline` drops lines that it
 * reads before its iterator exists, and an iterator that is created after the last line never ends.
 *
 * @throws {@link ValidationError} if the source can't be iterated.
 */
export function iterateSource(source: UploadSource<unknown>): RowIterator {
  if (typeof source === "object" && source !== null) {
    if (Symbol.asyncIterator in source) {
      return source[Symbol.asyncIterator]();
    }
    if (Symbol.iterator in source) {
      return source[Symbol.iterator]();
    }
  }
  throw new ValidationError("The source must be an array, a stream or another iterable");
}

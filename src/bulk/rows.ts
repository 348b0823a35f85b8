import { ValidationError } from "../model/errors.ts";
import type { UploadSource } from "../model/upload.ts";

/** The rows of a source, one after another. @throws {@link ValidationError} it can't be iterated. */
export function rowsOf<Row>(source: UploadSource<Row>): AsyncIterable<Row> | Iterable<Row> {
  if (typeof source === "object" && source !== null) {
    if (Symbol.asyncIterator in source || Symbol.iterator in source) {
      return source;
    }
  }
  throw new ValidationError("The source must be an array, a stream, or what else can be iterated");
}

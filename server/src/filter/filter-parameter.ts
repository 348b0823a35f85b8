import { RequestError } from "../model/errors.ts";
import { checkFilter } from "./checker.ts";
import type { CheckedFilter } from "./checker.ts";
import type { FieldTable } from "./fields.ts";
import { FilterError } from "./filter-error.ts";

/**
 * Parses a parameter that contains a filter; `undefined` if it is absent or blank.
 *
 * @throws RequestError 422: the filter is invalid. The detail begins with the parameter's name and contains the
 * position of the error.
 */
export function readFilter(
  fields: FieldTable,
  parameter: string,
  text: string | null | undefined,
): CheckedFilter | undefined {
  if (text === undefined || text === null || text.trim() === "") {
    return undefined;
  }
  try {
    return checkFilter(text, fields);
  } catch (cause) {
    throw cause instanceof FilterError
      ? new RequestError(422, `${parameter}: ${cause.message}`)
      : cause;
  }
}

import { RequestError } from "../model/errors.ts";
import { checkFilter } from "./checker.ts";
import type { CheckedFilter } from "./checker.ts";
import type { FieldTable } from "./fields.ts";
import { FilterError } from "./filter-error.ts";

/**
 * A parameter that holds a filter; `undefined` where it is absent or blank.
 *
 * @throws RequestError 422: it has a fault, at which the detail points. It begins with the parameter's name.
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

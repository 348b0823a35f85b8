import { RequestError } from "../model/errors.ts";
import { printFilter } from "./ast.ts";
import { checkFilter, describeFields } from "./checker.ts";
import type { CheckedFilter } from "./checker.ts";
import type { FieldTable } from "./fields.ts";
import { FilterError } from "./filter-error.ts";
import { parseFilter } from "./infix-parser.ts";

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

/**
 * Returns a saved filter in a form that is still valid. Words that were plain search words when the filter was saved
 * may have become operators since then: such a filter is returned in the form of functions, in which these words are
 * quoted texts of `search`. Any other filter is returned unchanged, even if it is invalid.
 */
export function readSavedFilter<Text extends string | null>(
  fields: FieldTable,
  text: Text,
): Text | string {
  if (text === null || text.trim() === "" || isValid(fields, text)) {
    return text;
  }
  try {
    const functions = printFilter(parseFilter(text, describeFields(fields), "saved"));
    return isValid(fields, functions) ? functions : text;
  } catch (cause) {
    if (cause instanceof FilterError) {
      return text;
    }
    throw cause;
  }
}

function isValid(fields: FieldTable, text: string): boolean {
  try {
    checkFilter(text, fields);
    return true;
  } catch (cause) {
    if (cause instanceof FilterError) {
      return false;
    }
    throw cause;
  }
}

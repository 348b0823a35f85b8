import type { FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { Static } from "typebox";
import { printFilter } from "./ast.ts";
import { checkFilter, describeFields } from "./checker.ts";
import { exampleFields, runFields } from "./fields.ts";
import { FilterError } from "./filter-error.ts";
import { describeFilterLanguage } from "./filter-language.ts";
import { parseFilter } from "./infix-parser.ts";

const fieldTables = { runs: runFields, examples: exampleFields } as const;

/** `GET /ui/filters/words`: returns the functions and fields of the filter language. */
export const readFilterLanguage = () => ({
  runs: describeFilterLanguage(runFields),
  examples: describeFilterLanguage(exampleFields),
});

/** Body of `POST /ui/filters/check`. */
export const filterCheckBody = Type.Object({
  of: Type.Union([Type.Literal("runs"), Type.Literal("examples")]),
  // There is no maximum length here: a filter that is too long gets an error like any other invalid filter. The limit
  // on bodies is far higher.
  filter: Type.String(),
});

/**
 * Checks a filter in any of its forms. Returns the error with its position, or `null` if there is none. Also returns
 * the filter in the form of functions, from which the UI shows its conditions.
 */
export function checkFilterText({
  body: { of, filter },
}: FastifyRequest<{ Body: Static<typeof filterCheckBody> }>) {
  try {
    if (filter.trim() === "") {
      return { fault: null, functions: "" };
    }
    const fields = fieldTables[of];
    checkFilter(filter, fields);
    const parsed = parseFilter(filter, describeFields(fields));
    return { fault: null, functions: printFilter(parsed) };
  } catch (cause) {
    if (!(cause instanceof FilterError)) {
      throw cause;
    }
    const { shortReason, offset, length } = cause;
    return { fault: { reason: shortReason, offset, length }, functions: null };
  }
}

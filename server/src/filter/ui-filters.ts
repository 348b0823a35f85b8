import type { FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { Static } from "typebox";
import { checkFilter } from "./checker.ts";
import { exampleFields, runFields } from "./fields.ts";
import { FilterError } from "./filter-error.ts";
import { filterWords } from "./filter-words.ts";

const tables = { runs: runFields, examples: exampleFields } as const;

/** `GET /ui/filters/words`. */
export const readFilterWords = () => ({
  runs: filterWords(runFields),
  examples: filterWords(exampleFields),
});

/** Body of `POST /ui/filters/check`. */
export const filterCheckBody = Type.Object({
  of: Type.Union([Type.Literal("runs"), Type.Literal("examples")]),
  // A longer one than is allowed is a fault like another; the body's own bound is far above.
  filter: Type.String(),
});

/** Checks a filter, and returns the position of the fault of a malformed one. */
export function checkFilterText({
  body: { of, filter },
}: FastifyRequest<{ Body: Static<typeof filterCheckBody> }>) {
  try {
    if (filter.trim() !== "") {
      checkFilter(filter, tables[of]);
    }
    return { fault: null };
  } catch (cause) {
    if (!(cause instanceof FilterError)) {
      throw cause;
    }
    const { reason, offset, length } = cause;
    return { fault: { reason, offset, length } };
  }
}

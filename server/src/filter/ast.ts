import type { Span } from "./filter-error.ts";

/** The comparison functions of the filter language. */
export const comparators = [
  "eq",
  "neq",
  "gt",
  "gte",
  "lt",
  "lte",
  "in",
  "has",
  "exists",
  "search",
  "like",
] as const;

export type Comparator = (typeof comparators)[number];

/** A literal of a filter. */
export type Literal = Span &
  (
    | {
        readonly kind: "text";
        readonly text: string;
        /**
         * The source between the quotes, with its escapes; set only for a single-quoted text with a backslash. The
         * source may be JSON, in which a backslash has another meaning than in a filter.
         */
        readonly rawSource?: string;
      }
    | { readonly kind: "number"; readonly number: number }
    | { readonly kind: "boolean"; readonly boolean: boolean }
    | { readonly kind: "null" }
    | { readonly kind: "list"; readonly items: readonly Literal[] }
  );

/** The name of a field, as it is written in the filter. */
export interface FieldName extends Span {
  readonly name: string;
}

/** A parsed filter, before its fields are checked. */
export type Filter = Span &
  (
    | { readonly kind: "and" | "or"; readonly parts: readonly Filter[] }
    | { readonly kind: "not"; readonly part: Filter }
    /** Whether a field has a value, as in `exists(model)`. */
    | { readonly kind: "exists"; readonly field: FieldName }
    | {
        readonly kind: "comparison";
        readonly comparator: Comparator;
        /** Absent in `search("text")`, which searches everywhere. */
        readonly field?: FieldName;
        readonly operand: Literal;
      }
  );

/** Formats a filter as text. Parsing the text returns the same filter. */
export function printFilter(filter: Filter): string {
  switch (filter.kind) {
    case "and":
    case "or":
      return `${filter.kind}(${filter.parts.map(printFilter).join(", ")})`;
    case "not":
      return `not(${printFilter(filter.part)})`;
    case "exists":
      return `exists(${filter.field.name})`;
    case "comparison": {
      const field = filter.field === undefined ? "" : `${filter.field.name}, `;
      return `${filter.comparator}(${field}${printLiteral(filter.operand)})`;
    }
  }
}

function printLiteral(literal: Literal): string {
  switch (literal.kind) {
    case "text":
      return literal.rawSource === undefined
        ? JSON.stringify(literal.text)
        : `'${literal.rawSource}'`;
    case "number":
      return String(literal.number);
    case "boolean":
      return String(literal.boolean);
    case "null":
      return "null";
    case "list":
      return `[${literal.items.map(printLiteral).join(", ")}]`;
  }
}

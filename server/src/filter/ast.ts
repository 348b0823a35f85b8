import type { Span } from "./filter-error.ts";

/** The comparators. */
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

/** A value as the filter writes it. */
export type Literal = Span &
  (
    | {
        readonly kind: "text";
        readonly text: string;
        /** What stood between single quotes, where it holds a backslash: JSON has its own use for it. */
        readonly raw?: string;
      }
    | { readonly kind: "number"; readonly number: number }
    | { readonly kind: "boolean"; readonly boolean: boolean }
    | { readonly kind: "null" }
    | { readonly kind: "list"; readonly items: readonly Literal[] }
  );

/** The name of a field, as written. */
export interface FieldName extends Span {
  readonly name: string;
}

/** A filter as it is written, before its fields are looked up. */
export type Filter = Span &
  (
    | { readonly kind: "and" | "or"; readonly parts: readonly Filter[] }
    | { readonly kind: "not"; readonly part: Filter }
    | {
        readonly kind: "comparison";
        readonly comparator: Comparator;
        /** Absent in `search("text")`, which looks everywhere. */
        readonly field?: FieldName;
        readonly operand: Literal;
      }
  );

/** The text of a filter; parsed again, it is the same filter. */
export function printFilter(filter: Filter): string {
  switch (filter.kind) {
    case "and":
    case "or":
      return `${filter.kind}(${filter.parts.map(printFilter).join(", ")})`;
    case "not":
      return `not(${printFilter(filter.part)})`;
    case "comparison": {
      const field = filter.field === undefined ? "" : `${filter.field.name}, `;
      return `${filter.comparator}(${field}${printLiteral(filter.operand)})`;
    }
  }
}

function printLiteral(literal: Literal): string {
  switch (literal.kind) {
    case "text":
      return literal.raw === undefined ? JSON.stringify(literal.text) : `'${literal.raw}'`;
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

import type { Comparator, FieldName, Filter, Literal } from "./ast.ts";
import { valueOf } from "./conditions.ts";
import { comparatorsOf, entryOf } from "./fields.ts";
import type { EntryField, Field, FieldTable, Group } from "./fields.ts";
import { FilterError, quoteName, suggest } from "./filter-error.ts";
import { toOperand } from "./operands.ts";
import type { Operand } from "./operands.ts";
import { parseFilter } from "./parser.ts";

/** A filter whose fields, comparators and values fit together. Compiling it can't fail. */
export type CheckedFilter =
  | { readonly kind: "and" | "or"; readonly parts: readonly CheckedFilter[] }
  | { readonly kind: "not"; readonly part: CheckedFilter }
  /** A text that may occur anywhere. */
  | { readonly kind: "search"; readonly text: string }
  | CheckedComparison;

export interface CheckedComparison {
  readonly kind: "comparison";
  readonly comparator: Comparator;
  readonly field: Field;
  readonly operand: Operand;
}

/**
 * Parses a filter and checks its fields.
 *
 * @throws FilterError it is malformed, names an unknown field, or uses a comparator or a value that the field does
 * not support.
 */
export const checkFilter = (text: string, fields: FieldTable): CheckedFilter =>
  check(parseFilter(text), { text, fields });

interface Context {
  readonly text: string;
  readonly fields: FieldTable;
}

function check(filter: Filter, context: Context): CheckedFilter {
  switch (filter.kind) {
    case "and":
    case "or":
      return { kind: filter.kind, parts: filter.parts.map((part) => check(part, context)) };
    case "not":
      return { kind: "not", part: check(filter.part, context) };
    case "comparison":
      return checkComparison(filter, context);
  }
}

function checkComparison(
  filter: Filter & { readonly kind: "comparison" },
  context: Context,
): CheckedFilter {
  if (filter.field === undefined) {
    return { kind: "search", text: textOf(filter.operand, context) };
  }
  const { name } = filter.field;
  const entry = entryOf(name, context.fields);
  if (entry !== undefined) {
    return checkEntry(filter, { ...context, ...entry });
  }
  const field = context.fields.get(name);
  if (field === undefined) {
    throw unknownField(filter.field, context);
  }
  return checkField(filter, { ...context, field });
}

/** In a path, only the part before the first dot can be unknown. */
function unknownField({ name, offset }: FieldName, { text, fields }: Context): FilterError {
  const [head = ""] = name.split(".", 1);
  const unknown = fields.has(head) ? name : head;
  const hint = suggest(unknown, fields.keys());
  return new FilterError(text, {
    reason: `unknown field ${quoteName(unknown)}${hint || ";"} fields are ${[...fields.keys()].join(", ")}`,
    offset,
    length: unknown.length,
  });
}

/**
 * Checks a comparison with one entry of an object such as `metadata`, addressed by its path. It compares key and value
 * together, and is false for an object without that entry.
 */
function checkEntry(
  filter: Filter & { readonly kind: "comparison" },
  { object, key, entry, path, ...context }: Context & EntryField,
): CheckedFilter {
  const test = checkField(filter, { ...context, field: entry });
  if (test.comparator === "exists") {
    const subpath = String(valueOf(test.operand));
    return { ...test, field: object, operand: { kind: "scalar", value: `${path}.${subpath}` } };
  }
  const hasKey: CheckedComparison = {
    kind: "comparison",
    comparator: "eq",
    field: key,
    operand: { kind: "scalar", value: path },
  };
  return test.comparator === "neq"
    ? { kind: "not", part: { kind: "and", parts: [hasKey, { ...test, comparator: "eq" }] } }
    : { kind: "and", parts: [hasKey, test] };
}

function checkField(
  filter: Filter & { readonly kind: "comparison" },
  { text, field }: Context & { readonly field: Field },
): CheckedComparison {
  const { comparator, operand } = filter;
  const allowed = comparatorsOf[field.type];
  if (!allowed.includes(comparator)) {
    throw new FilterError(text, {
      reason: `${comparator} can't be used with \`${field.name}\`; it supports ${allowed.join(", ")}`,
      offset: filter.offset,
      length: comparator.length,
    });
  }
  return {
    kind: "comparison",
    comparator,
    field,
    operand: toOperand(operand, { text, field, comparator }),
  };
}

function textOf(literal: Literal, { text }: Context): string {
  if (literal.kind === "text" && literal.text !== "") {
    return literal.text;
  }
  throw new FilterError(text, { reason: "search takes a text that is not empty", ...literal });
}

/** The group to which all fields of a filter belong; `undefined` if the fields differ or have no group. */
export function groupOf(filter: CheckedFilter): Group | undefined {
  switch (filter.kind) {
    case "search":
      return undefined;
    case "comparison":
      return filter.field.group;
    case "not":
      return groupOf(filter.part);
    case "and":
    case "or": {
      const [first, ...otherGroups] = filter.parts.map(groupOf);
      return otherGroups.every((group) => group === first) ? first : undefined;
    }
  }
}

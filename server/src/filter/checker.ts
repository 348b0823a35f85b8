import { userKeys } from "millrace/model";
import type { Comparator, FieldName, Filter, Literal } from "./ast.ts";
import { toSingleValue } from "./conditions.ts";
import { comparatorsByType, findEntryField } from "./fields.ts";
import type { EntryField, Field, FieldTable, Group } from "./fields.ts";
import { FilterError, quoteName, suggestName } from "./filter-error.ts";
import { toOperand } from "./operands.ts";
import type { Operand } from "./operands.ts";
import { parseFilter } from "./infix-parser.ts";
import type { KnownFields } from "./infix-parser.ts";

/** A filter whose fields, comparators and values are compatible, so that compiling it can't fail. */
export type CheckedFilter =
  | { readonly kind: "and" | "or"; readonly parts: readonly CheckedFilter[] }
  | { readonly kind: "not"; readonly part: CheckedFilter }
  /** A text to search for in all texts of a row. */
  | { readonly kind: "search"; readonly text: string }
  | CheckedComparison;

/** A comparison of a field with an operand of the right type. */
export interface CheckedComparison {
  readonly kind: "comparison";
  readonly comparator: Comparator;
  readonly field: Field;
  readonly operand: Operand;
}

/**
 * Parses a filter and checks its fields.
 *
 * @throws FilterError the filter is malformed, names an unknown field, or uses a comparator or a value that the field
 * does not support.
 */
export const checkFilter = (text: string, fields: FieldTable): CheckedFilter =>
  checkPart(parseFilter(text, describeFields(fields)), { text, fields });

/** Returns what the parser has to know about the fields of a table. */
export const describeFields = (fields: FieldTable): KnownFields => ({
  isDuration: (name) => fields.get(name)?.type === "duration",
  findComparators: (name) => {
    // Common names are recognized only in lower case: the words of a search may begin with `Project has`.
    const resolvedName = name === name.toLowerCase() ? resolveCommonName(name, fields) : name;
    const field = fields.get(resolvedName) ?? findEntryField(resolvedName, fields)?.entry;
    return field && comparatorsByType[field.type];
  },
});

interface CheckContext {
  readonly text: string;
  readonly fields: FieldTable;
}

function checkPart(filter: Filter, context: CheckContext): CheckedFilter {
  switch (filter.kind) {
    case "and":
    case "or":
      return { kind: filter.kind, parts: filter.parts.map((part) => checkPart(part, context)) };
    case "not":
      return { kind: "not", part: checkPart(filter.part, context) };
    case "exists":
      return checkPresence(filter, context);
    case "comparison":
      return checkComparison(filter, context);
  }
}

function checkComparison(
  filter: Filter & { readonly kind: "comparison" },
  context: CheckContext,
): CheckedFilter {
  if (filter.field === undefined) {
    return { kind: "search", text: requireText(filter.operand, context) };
  }
  const found = resolveField(filter.field, context);
  if (found.kind === "entry") {
    const { entry } = found;
    const otherValues = found.isNamed ? splitNull(filter) : undefined;
    if (otherValues === undefined) {
      return checkEntry(filter, { ...context, ...entry });
    }
    const hasValue = createEntryPresence(entry);
    if (filter.comparator === "neq") {
      return hasValue;
    }
    const hasNoValue: CheckedFilter = { kind: "not", part: hasValue };
    return otherValues.length === 0
      ? hasNoValue
      : {
          kind: "or",
          parts: [
            hasNoValue,
            checkEntry(
              { ...filter, operand: { ...filter.operand, kind: "list", items: otherValues } },
              { ...context, ...entry },
            ),
          ],
        };
  }
  const { field } = found;
  const { comparator, operand } = filter;
  if (
    field.type === "texts" &&
    operand.kind === "null" &&
    (comparator === "eq" || comparator === "neq")
  ) {
    const hasText = createTextPresence(field);
    return comparator === "eq" ? { kind: "not", part: hasText } : hasText;
  }
  return checkField(filter, { ...context, field });
}

/** An entry that a filter names: by a path, or by the name of a field that stands for one or several paths. */
interface NamedEntry extends EntryField {
  readonly paths: readonly string[];
}

type FoundField =
  | { readonly kind: "field"; readonly field: Field }
  | {
      readonly kind: "entry";
      readonly entry: NamedEntry;
      /** Whether the filter contains the name of a field instead of a path, so that null stands for no value. */
      readonly isNamed: boolean;
    };

/** @throws FilterError there is no field of this name. */
function resolveField(fieldName: FieldName, context: CheckContext): FoundField {
  const writtenName = resolveCommonName(fieldName.name, context.fields);
  const name = context.fields.get(writtenName)?.alias ?? writtenName;
  const entry = findEntryField(name, context.fields);
  if (entry !== undefined) {
    const isNamed = name !== fieldName.name;
    const paths = isNamed && name === metadataUser ? userKeys : [entry.path];
    return { kind: "entry", entry: { ...entry, paths }, isNamed };
  }
  const field = context.fields.get(name);
  if (field === undefined) {
    throw createUnknownFieldError(fieldName, context);
  }
  return { kind: "field", field };
}

/**
 * Returns the values other than null with which `eq`, `neq` or `in` compares; `undefined` if null is not among them.
 */
function splitNull({
  comparator,
  operand,
}: Filter & { readonly kind: "comparison" }): readonly Literal[] | undefined {
  if (operand.kind === "null") {
    return comparator === "eq" || comparator === "neq" ? [] : undefined;
  }
  const items = comparator === "in" && operand.kind === "list" ? operand.items : [];
  const otherValues = items.filter(({ kind }) => kind !== "null");
  return otherValues.length === items.length ? undefined : otherValues;
}

/**
 * Checks `exists` with a field alone, which is true if the field has a value. It can be used for every field that can
 * be absent.
 */
function checkPresence(
  { field: fieldName, offset }: Filter & { readonly kind: "exists" },
  context: CheckContext,
): CheckedFilter {
  const found = resolveField(fieldName, context);
  if (found.kind === "entry") {
    return createEntryPresence(found.entry);
  }
  const { field } = found;
  if (field.type === "texts") {
    return createTextPresence(field);
  }
  const isEntryOrFeedback = field.group !== undefined;
  if (field.type === "json" || (field.nullable && !isEntryOrFeedback)) {
    const comparator = field.type === "json" ? "exists" : "neq";
    return { kind: "comparison", comparator, field, operand: { kind: "scalar", value: null } };
  }
  throw new FilterError(context.text, {
    reason: `exists can't be used with \`${field.name}\`; it supports ${comparatorsByType[field.type].join(", ")}`,
    offset,
    length: "exists".length,
  });
}

/** Whether one of the texts of a field exists. */
const createTextPresence = (field: Field): CheckedComparison => ({
  kind: "comparison",
  comparator: "like",
  field,
  operand: anyText,
});

/** Whether there is an entry at one of the paths whose value is not null. */
const createEntryPresence = ({ key, entry, paths }: NamedEntry): CheckedFilter => ({
  kind: "and",
  parts: [
    createKeyComparison(key, paths),
    {
      kind: "not",
      part: {
        kind: "comparison",
        comparator: "eq",
        field: entry,
        operand: { kind: "scalar", value: null },
      },
    },
  ],
});

/** Whether the key of an entry is one of some paths. */
const createKeyComparison = (key: Field, paths: readonly string[]): CheckedComparison => {
  const [path = ""] = paths;
  return {
    kind: "comparison",
    field: key,
    ...(paths.length === 1
      ? { comparator: "eq", operand: { kind: "scalar", value: path } }
      : { comparator: "in", operand: { kind: "list", values: paths } }),
  };
};

/** A pattern of `like` that matches every text. */
const anyText = { kind: "scalar", value: "%" } as const;

/**
 * The metadata entry to which the common names `user` and `user_id` refer. They also refer to the entries of the other
 * {@link userKeys}.
 */
const metadataUser = "metadata.user_id";

/**
 * Other names of fields, which a filter may use, too: they come from columns and facets of the UI, or other products.
 */
const commonNames: ReadonlyMap<string, string> = new Map([
  ["user", metadataUser],
  ["user_id", metadataUser],
  ["version", "metadata.version"],
  ["type", "run_type"],
  ["tokens", "total_tokens"],
  ["input_tokens", "prompt_tokens"],
  ["output_tokens", "completion_tokens"],
  ["cost", "total_cost"],
  ["duration", "latency"],
  ["start", "start_time"],
  ["end", "end_time"],
  ["thread", "thread_id"],
  ["project", "session_id"],
]);

/** Returns the name of the field that a common name stands for, and any other name unchanged. */
function resolveCommonName(name: string, fields: FieldTable): string {
  const resolvedName = fields.has(name) ? undefined : commonNames.get(name.toLowerCase());
  return resolvedName !== undefined && fields.has(resolvedName.split(".", 1)[0] ?? "")
    ? resolvedName
    : name;
}

/** A short name that can be a step of a path. */
const pathStepPattern = /^[A-Za-z_][\w-]{0,39}$/;

/** Creates the error for an unknown field. In a path, only the part before the first dot can be unknown. */
function createUnknownFieldError(
  { name, offset }: FieldName,
  { text, fields }: CheckContext,
): FilterError {
  const [head = ""] = name.split(".", 1);
  const unknown = fields.has(head) ? name : head;
  const resolvedName = resolveCommonName(unknown, fields);
  const hint =
    resolvedName === unknown
      ? suggestName(unknown, fields.keys())
      : `, did you mean \`${resolvedName}\`?`;
  const otherwise = fields.has("feedback_key")
    ? `; write metadata.${unknown} for metadata, or feedback_key = "${unknown}" for feedback`
    : `; write metadata.${unknown} for metadata`;
  return new FilterError(text, {
    reason: `unknown field ${quoteName(unknown)}${hint || ";"} fields are ${[...fields.keys()].join(", ")}`,
    shortReason: `unknown field ${quoteName(unknown)}${hint || (pathStepPattern.test(unknown) ? otherwise : "")}`,
    offset,
    length: unknown.length,
  });
}

/**
 * Checks a comparison with an entry that the filter addresses by its path, such as `metadata.user.plan`. The result
 * compares the entry's key and value together. For an object without that entry, `neq` is true and every other
 * comparator is false. If there are several paths, an entry at one of them must match, and with `neq` none may match.
 */
function checkEntry(
  filter: Filter & { readonly kind: "comparison" },
  { object, key, entry, paths, ...context }: CheckContext & NamedEntry,
): CheckedFilter {
  const test = checkField(filter, { ...context, field: entry });
  if (test.comparator === "exists") {
    const subpath = String(toSingleValue(test.operand));
    const parts = paths.map((path): CheckedComparison => ({
      ...test,
      field: object,
      operand: { kind: "scalar", value: `${path}.${subpath}` },
    }));
    return joinAlternatives(parts);
  }
  const keyComparison = createKeyComparison(key, paths);
  return test.comparator === "neq"
    ? { kind: "not", part: { kind: "and", parts: [keyComparison, { ...test, comparator: "eq" }] } }
    : { kind: "and", parts: [keyComparison, test] };
}

function joinAlternatives(parts: readonly CheckedComparison[]): CheckedFilter {
  const [first] = parts;
  return first !== undefined && parts.length === 1 ? first : { kind: "or", parts };
}

function checkField(
  filter: Filter & { readonly kind: "comparison" },
  { text, field }: CheckContext & { readonly field: Field },
): CheckedComparison {
  const { comparator, operand } = filter;
  const allowedComparators = comparatorsByType[field.type];
  if (!allowedComparators.includes(comparator)) {
    throw new FilterError(text, {
      reason: `${comparator} can't be used with \`${field.name}\`; it supports ${allowedComparators.join(", ")}`,
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

function requireText(literal: Literal, { text }: CheckContext): string {
  if (literal.kind === "text" && literal.text !== "") {
    return literal.text;
  }
  throw new FilterError(text, { reason: "search takes a text that is not empty", ...literal });
}

/**
 * Returns the group, such as `metadata` or `feedback`, to which all fields of a filter belong; `undefined` if their
 * groups differ or they have no group.
 */
export function findGroup(filter: CheckedFilter): Group | undefined {
  switch (filter.kind) {
    case "search":
      return undefined;
    case "comparison":
      return filter.field.group;
    case "not":
      return findGroup(filter.part);
    case "and":
    case "or": {
      const [first, ...otherGroups] = filter.parts.map(findGroup);
      return otherGroups.every((group) => group === first) ? first : undefined;
    }
  }
}

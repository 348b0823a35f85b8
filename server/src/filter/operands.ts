import { isUuid } from "millrace/model";
import { parseTimeBound } from "../model/parse-time.ts";
import type { Comparator, Literal } from "./ast.ts";
import { isJsonType, valueDescriptions } from "./fields.ts";
import type { Field } from "./fields.ts";
import { FilterError } from "./filter-error.ts";
import { describeExcess } from "./json-bounds.ts";
import { filterLimits } from "./parser.ts";

/** A value with which a filter compares a field. */
export type Scalar = string | number | boolean | null;

/** A value in the unit of its field: times and durations are in microseconds. */
export type Operand =
  | { readonly kind: "scalar"; readonly value: Scalar }
  | { readonly kind: "list"; readonly values: readonly Scalar[] }
  /** An object that a JSON object must contain. */
  | { readonly kind: "json"; readonly json: Readonly<Record<string, unknown>> };

interface OperandContext {
  /** The whole filter, for error messages. */
  readonly text: string;
  readonly field: Field;
  readonly comparator: Comparator;
}

/**
 * Converts a literal to a value that the comparator accepts.
 *
 * @throws FilterError the comparator does not accept the value for this field.
 */
export function toOperand(literal: Literal, context: OperandContext): Operand {
  const { field, comparator } = context;
  if (comparator === "in") {
    if (literal.kind !== "list") {
      throw createError(literal, context, "in takes a list of values in [ ]");
    }
    return { kind: "list", values: literal.items.map((item) => toScalar(item, context)) };
  }
  if (literal.kind === "list") {
    throw createError(literal, context, `${comparator} takes one value; use in for a list`);
  }
  if (comparator === "has" && (field.type === "json" || field.type === "entry")) {
    return { kind: "json", json: toObject(literal, context) };
  }
  if (comparator === "like" || comparator === "search" || comparator === "exists") {
    return { kind: "scalar", value: toPattern(literal, context) };
  }
  if (literal.kind === "null" && isOrderingComparator(comparator)) {
    throw createError(literal, context, `${comparator} can't compare with null`);
  }
  if (isOrderingComparator(comparator) && literal.kind === "boolean") {
    throw createError(literal, context, `${comparator} can't compare with ${literal.boolean}`);
  }
  return { kind: "scalar", value: toScalar(literal, context) };
}

const isOrderingComparator = (comparator: Comparator): boolean =>
  comparator === "gt" || comparator === "gte" || comparator === "lt" || comparator === "lte";

function toPattern(literal: Literal, context: OperandContext): string {
  if (literal.kind !== "text" || literal.text === "") {
    throw createError(literal, context, `${context.comparator} takes a text that is not empty`);
  }
  if (context.comparator === "like" && literal.text.includes("\0")) {
    throw createError(literal, context, "a like pattern can't contain the character U+0000");
  }
  return literal.text;
}

function toScalar(literal: Literal, context: OperandContext): Scalar {
  const { field } = context;
  const value = literal.kind === "null" && field.nullable ? null : convert(literal, field);
  if (value === undefined) {
    const choices = field.choices === undefined ? "" : `: ${field.choices.join(", ")}`;
    const nullHint =
      field.nullable && field.type !== "error" && !isJsonType(field.type) ? ", or null" : "";
    throw createError(
      literal,
      context,
      `\`${field.name}\` takes ${valueDescriptions[field.type]}${choices}${nullHint}`,
    );
  }
  return value;
}

/** Converts a literal to a value of the field's type; `undefined` if the type has no such value. */
function convert(literal: Literal, { name, type, choices }: Field): Scalar | undefined {
  const text = literal.kind === "text" ? literal.text : undefined;
  const number = literal.kind === "number" ? literal.number : undefined;
  const boolean = literal.kind === "boolean" ? literal.boolean : undefined;
  switch (type) {
    case "uuid":
      return isUuid(text) ? text.toLowerCase() : undefined;
    case "text":
    case "texts":
    case "json":
    case "key":
      return text;
    case "choice":
      return text !== undefined && choices?.includes(text) === true ? text : undefined;
    case "time":
      return parseTimeBound(text?.replace(dayPattern, "$&T00:00:00Z") ?? number);
    case "duration":
      return number === undefined ? parseDuration(text ?? "") : Math.round(number * 1_000_000);
    case "number":
      return number ?? (name.endsWith("_cost") ? parseDollars(text ?? "") : undefined);
    case "boolean":
      return boolean;
    case "error":
      return text ?? boolean;
    case "value":
    case "entry":
      return text ?? number ?? boolean ?? (literal.kind === "null" ? null : undefined);
  }
}

const dollarPattern = /^\$\d+(?:\.\d+)?$/;

/** Reads an amount as the UI shows it, such as `$0.05`. */
const parseDollars = (text: string): number | undefined =>
  dollarPattern.test(text) ? Number(text.slice(1)) : undefined;

/** Matches a day without a time, which stands for the first moment of that day in UTC. */
const dayPattern = /^\d{4}-\d{2}-\d{2}$/;

const durationPattern = /^(-?\d+(?:\.\d+)?)\s*(us|ms|s|m|h|d)?$/;
const unitMicros: Readonly<Record<string, number>> = {
  us: 1,
  ms: 1_000,
  s: 1_000_000,
  m: 60_000_000,
  h: 3_600_000_000,
  d: 86_400_000_000,
};

/** The units in which a duration can be written. */
export const durationUnits: ReadonlySet<string> = new Set(Object.keys(unitMicros));

/** Converts a text such as `1.5s` to microseconds. Without a unit, the number is in seconds. */
function parseDuration(text: string): number | undefined {
  const [, digits, unit = "s"] = durationPattern.exec(text) ?? [];
  return digits === undefined ? undefined : Math.round(Number(digits) * (unitMicros[unit] ?? 1));
}

function toObject(literal: Literal, context: OperandContext): Readonly<Record<string, unknown>> {
  const example = `a JSON object in quotes, as in has(${context.field.name}, '{"key": "value"}')`;
  if (literal.kind !== "text") {
    throw createError(literal, context, `has takes ${example}`);
  }
  // In a single-quoted text, first read backslashes as escapes of JSON. If that does not result in valid JSON, read
  // them as escapes of the filter language.
  const json = parseJson(literal.rawSource?.replaceAll("\\'", "'")) ?? parseJson(literal.text);
  if (!isObject(json)) {
    throw createError(
      literal,
      context,
      `has takes ${example}; to test for a key, use exists(${context.field.name}, "key")`,
    );
  }
  const { jsonNesting, jsonNestingAtPath } = filterLimits;
  const excess = describeExcess(
    json,
    context.field.type === "entry" ? jsonNestingAtPath : jsonNesting,
  );
  if (excess !== undefined) {
    throw createError(literal, context, `the JSON object has ${excess}`);
  }
  return json;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function parseJson(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as unknown);
  } catch {
    return undefined; // Not JSON: the caller reports the error.
  }
}

const createError = (literal: Literal, { text }: OperandContext, reason: string): FilterError =>
  new FilterError(text, { reason, offset: literal.offset, length: literal.length });

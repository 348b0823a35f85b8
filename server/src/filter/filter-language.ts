import type { FilterLanguage, FilterFunction } from "millrace/model";
import { comparators } from "./ast.ts";
import type { Comparator } from "./ast.ts";
import { comparatorsByType, valueDescriptions } from "./fields.ts";
import type { FieldTable } from "./fields.ts";

const combinationDescriptions: readonly Omit<FilterFunction, "combines">[] = [
  { name: "and", form: "and(a, b, …)", doc: "All conditions match." },
  { name: "or", form: "or(a, b, …)", doc: "At least one condition matches." },
  { name: "not", form: "not(a)", doc: "The condition does not match." },
];

const comparisonDescriptions: {
  readonly [Name in Comparator]: readonly [form: string, doc: string];
} = {
  eq: ["eq(field, value)", "Equals the value."],
  neq: ["neq(field, value)", "Does not equal the value."],
  gt: ["gt(field, value)", "Greater than the value."],
  gte: ["gte(field, value)", "Greater than or equal to the value."],
  lt: ["lt(field, value)", "Less than the value."],
  lte: ["lte(field, value)", "Less than or equal to the value."],
  in: ["in(field, [value, …])", "Equals one of the values."],
  has: ["has(field, value)", "The list contains the text, or the object contains the members."],
  exists: [
    "exists(metadata.key)",
    "The object has an entry with the key. With a field alone, as in exists(model): the field has a value.",
  ],
  search: ['search("text")', "The text occurs anywhere in the run, or in a field."],
  like: ['like(field, "pattern")', "Matches the pattern: % is any text, _ is one character."],
};

const functions: readonly FilterFunction[] = [
  ...combinationDescriptions.map((combination) => ({ ...combination, combines: true })),
  ...comparators.map((name) => {
    const [form, doc] = comparisonDescriptions[name];
    return { name, form, doc, combines: false };
  }),
];

/**
 * Returns the functions, and the fields of a table, as data for completion in the UI. The documentation contains the
 * same descriptions.
 */
export const describeFilterLanguage = (fields: FieldTable): FilterLanguage => ({
  functions,
  fields: [...fields.values()].map(({ name, type, choices = [], nullable, words = null, doc }) => ({
    name,
    type,
    comparators: comparatorsByType[type],
    choices,
    isNullable: nullable,
    values:
      type === "choice"
        ? choices.map((choice) => `"${choice}"`).join(", ")
        : valueDescriptions[type],
    doc,
    words,
  })),
});

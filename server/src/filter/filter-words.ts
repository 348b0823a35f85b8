import type { FilterWords, FunctionWord } from "millrace/model";
import { comparators } from "./ast.ts";
import type { Comparator } from "./ast.ts";
import { comparatorsOf, valuesOf } from "./fields.ts";
import type { FieldTable } from "./fields.ts";

const combinations: readonly Omit<FunctionWord, "combines">[] = [
  { name: "and", form: "and(a, b, …)", doc: "All of them hold." },
  { name: "or", form: "or(a, b, …)", doc: "One of them holds." },
  { name: "not", form: "not(a)", doc: "It does not hold." },
];

const comparisons: { readonly [Name in Comparator]: readonly [form: string, doc: string] } = {
  eq: ["eq(field, value)", "It has this value."],
  neq: ["neq(field, value)", "It does not have this value."],
  gt: ["gt(field, value)", "It is greater."],
  gte: ["gte(field, value)", "It is greater or equal."],
  lt: ["lt(field, value)", "It is less."],
  lte: ["lte(field, value)", "It is less or equal."],
  in: ["in(field, [value, …])", "It has one of the values."],
  has: ["has(field, value)", "One of the texts is this one; the object holds these members."],
  exists: ["exists(metadata.key)", "The object has an entry of that key."],
  search: ['search("text")', "The text stands anywhere in the run, or in a field."],
  like: ['like(field, "pattern")', "It is as the pattern: % any characters, _ one."],
};

const functions: readonly FunctionWord[] = [
  ...combinations.map((word) => ({ ...word, combines: true })),
  ...comparators.map((name) => {
    const [form, doc] = comparisons[name];
    return { name, form, doc, combines: false };
  }),
];

/** The words for a table of fields; what its documentation is printed from, for a page that completes. */
export const filterWords = (fields: FieldTable): FilterWords => ({
  functions,
  fields: [...fields.values()].map(({ name, type, choices = [], nullable, words = null, doc }) => ({
    name,
    type,
    comparators: comparatorsOf[type],
    choices,
    isNullable: nullable,
    values: type === "choice" ? choices.map((choice) => `"${choice}"`).join(", ") : valuesOf[type],
    doc,
    words,
  })),
});

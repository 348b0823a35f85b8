import { comparators } from "./ast.ts";
import type { Comparator } from "./ast.ts";
import { comparatorsOf, valuesOf } from "./fields.ts";
import type { FieldTable } from "./fields.ts";

/** A function, as one writes it and what it says. */
export interface FunctionWord {
  readonly name: string;
  readonly form: string;
  readonly doc: string;
}

/** A field, and what it may be compared with. */
export interface FieldWord {
  readonly name: string;
  readonly type: string;
  readonly comparators: readonly string[];
  /** The values of a choice. */
  readonly choices: readonly string[];
  readonly isNullable: boolean;
  /** What its values look like, in words. */
  readonly values: string;
  readonly doc: string;
}

/** All that filters of one kind of thing are written with. */
export interface FilterWords {
  readonly functions: readonly FunctionWord[];
  readonly fields: readonly FieldWord[];
}

const combinations: readonly FunctionWord[] = [
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
  ...combinations,
  ...comparators.map((name) => ({ name, form: comparisons[name][0], doc: comparisons[name][1] })),
];

/** The words for a table of fields; what its documentation is printed from, for a page that completes. */
export const filterWords = (fields: FieldTable): FilterWords => ({
  functions,
  fields: [...fields.values()].map(({ name, type, choices = [], nullable, doc }) => ({
    name,
    type,
    comparators: comparatorsOf[type],
    choices,
    isNullable: nullable,
    values: type === "choice" ? choices.map((choice) => `"${choice}"`).join(", ") : valuesOf[type],
    doc,
  })),
});

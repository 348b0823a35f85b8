import type { FilterField, FilterLanguage } from "millrace/model";

const field = (
  name: string,
  comparators: string,
  options: Partial<FilterField> = {},
): FilterField => ({
  name,
  type: "text",
  comparators: comparators.split(" "),
  choices: [],
  isNullable: false,
  values: "a quoted text",
  doc: `The ${name}.`,
  words: null,
  ...options,
});

const equal = "eq neq in";
const ordered = "gt gte lt lte";

/** A part of the filter language for runs, as the server describes it. */
export const filterWords: FilterLanguage = {
  functions: [
    "and(a, b, …)",
    "or(a, b, …)",
    "not(a)",
    'search("text")',
    "eq(field, value)",
    "neq(field, value)",
    "gt(field, value)",
    "gte(field, value)",
    "lt(field, value)",
    "lte(field, value)",
    "has(field, value)",
    "in(field, [value, …])",
    "exists(metadata.key)",
  ].map((form) => ({
    name: form.split("(")[0] ?? "",
    form,
    doc: "It holds.",
    combines: /^(and|or|not)\(/.test(form),
  })),
  fields: [
    field("name", `${equal} like search`, { words: "name" }),
    field("model", `${equal} exists`, { type: "entry", isNullable: true }),
    field("status", equal, { type: "choice", choices: ["success", "error", "pending"] }),
    field("start_time", `eq neq ${ordered}`, { type: "time" }),
    field("latency", `eq neq ${ordered}`, { type: "duration", isNullable: true }),
    field("is_root", "eq neq", { type: "boolean" }),
    field("tags", `has ${equal}`, { type: "texts", words: "tag" }),
    field("metadata", "has exists search", { type: "json" }),
    field("metadata_key", equal, { type: "key", words: "metadata_key" }),
    field("metadata_value", `${equal} ${ordered}`, { type: "value", words: "metadata_value" }),
    field("metadata.<path>", `${equal} ${ordered} has exists`, {
      type: "entry",
      words: "metadata_value",
    }),
    field("feedback_key", equal, { type: "key", words: "feedback_key" }),
  ],
};

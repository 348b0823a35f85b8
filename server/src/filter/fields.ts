import type { ValueKind } from "millrace/model";
import { runStatuses } from "../model/run-status.ts";
import type { Comparator } from "./ast.ts";

/** The type of a field. It determines which comparators and values a filter can use. */
export type FieldType =
  /** Compared without regard to case. */
  | "uuid"
  | "text"
  /** One of a fixed set of texts. */
  | "choice"
  /** Times in microseconds since the Unix epoch. */
  | "time"
  /** Durations in microseconds. */
  | "duration"
  | "number"
  | "boolean"
  /** A text that may be absent. Comparing it with a boolean or null tests only whether it is present. */
  | "error"
  /** A list of texts. */
  | "texts"
  /** A JSON object. */
  | "json"
  /** The path of an entry of a JSON object, or a feedback key. */
  | "key"
  /** A JSON value of any type. */
  | "value"
  /** The entry of a JSON object at the path in the field's name, as in `metadata.user.plan`. */
  | "entry";

/**
 * A row can have several entries in each group, such as several metadata entries. All conditions on the fields of one
 * group must be met by the same entry.
 */
export type Group = "metadata" | "inputs" | "outputs" | "feedback";

/** A field that a filter can compare. */
export interface Field {
  readonly name: string;
  readonly type: FieldType;
  /** Whether the field may be compared with `null`. */
  readonly nullable: boolean;
  readonly group?: Group;
  /** The allowed values of a field whose type is `choice`. */
  readonly choices?: readonly string[];
  /** The field, or the path of an entry, for which this field is another name, such as `metadata.ls_model_name`. */
  readonly alias?: string;
  /** The kind of values that the UI suggests for the field. */
  readonly words?: ValueKind;
  /** Description for the documentation and the UI. */
  readonly doc: string;
}

/** Fields by name, for one kind of row. */
export type FieldTable = ReadonlyMap<string, Field>;

const equalityComparators = ["eq", "neq", "in"] as const;
const orderingComparators = ["gt", "gte", "lt", "lte"] as const;

/** The comparators that each type of field supports. */
export const comparatorsByType: { readonly [Type in FieldType]: readonly Comparator[] } = {
  uuid: equalityComparators,
  text: [...equalityComparators, "like", "search"],
  choice: equalityComparators,
  time: ["eq", "neq", ...orderingComparators],
  duration: ["eq", "neq", ...orderingComparators],
  number: [...equalityComparators, ...orderingComparators],
  boolean: ["eq", "neq"],
  error: [...equalityComparators, "like", "search"],
  texts: ["has", "eq", "neq", "in", "like", "search"],
  json: ["has", "exists", "search"],
  key: [...equalityComparators, "like"],
  value: [...equalityComparators, ...orderingComparators, "like", "search"],
  entry: [...equalityComparators, ...orderingComparators, "like", "search", "has", "exists"],
};

/** Describes how the values of each type are written, for error messages and the documentation. */
export const valueDescriptions: { readonly [Type in FieldType]: string } = {
  uuid: "a UUID in quotes",
  text: "a quoted text",
  choice: "one of its texts in quotes",
  time: "an ISO 8601 time or day in quotes, or epoch milliseconds",
  duration: 'seconds as a number, or a text such as "1.5s", "200ms", "2m", "1h"',
  number: "a number",
  boolean: "true or false",
  error: "a quoted text; null, true and false test whether there is one",
  texts: "a quoted text; eq and neq also take null, which tests whether there is none",
  json: "the text of a JSON object for has, a quoted text otherwise",
  key: "a quoted text",
  value: "a quoted text, a number, true, false or null",
  entry: "a quoted text, a number, true, false or null; the text of a JSON object for has",
};

/** Whether a type supports texts, numbers, booleans and null, as in JSON. */
export const isJsonType = (type: FieldType): boolean => type === "value" || type === "entry";

type FieldRow = readonly [
  name: string,
  type: FieldType,
  doc: string,
  extra?: Partial<Pick<Field, "group" | "choices" | "words" | "alias">> & {
    readonly nullable?: true;
  },
];

const toTable = (rows: readonly FieldRow[]): FieldTable =>
  new Map(
    rows.map(([name, type, doc, extra = {}]) => [
      name,
      {
        name,
        type,
        doc,
        ...extra,
        nullable: extra.nullable ?? (type === "error" || isJsonType(type)),
      },
    ]),
  );

/**
 * Placeholder for the path in the name of a field, as in `metadata.<path>`. A name in a filter can't contain this text.
 */
const pathPlaceholder = "<path>";

interface EntrySuggestions {
  readonly key: ValueKind;
  readonly value: ValueKind;
}

/**
 * Creates the fields for the entries of an object. `words` are the kinds of suggestions for keys and values, if there
 * are any.
 */
const createEntryRows = (prefix: string, group: Group, words?: EntrySuggestions): FieldRow[] => [
  [
    `${prefix}_key`,
    "key",
    `Path of an entry of \`${group}\`: its keys, joined by dots. Lists add no key.`,
    { group, ...(words && { words: words.key }) },
  ],
  [
    `${prefix}_value`,
    "value",
    `Value of an entry of \`${group}\`.`,
    { group, ...(words && { words: words.value }) },
  ],
  [
    `${group}.${pathPlaceholder}`,
    "entry",
    `The entry of \`${group}\` at a path.`,
    { group, ...(words && { words: words.value }) },
  ],
];

/** The fields of runs that stand for a field of the whole trace in a list of traces. */
const traceAliases: Readonly<Record<string, Partial<Field>>> = {
  model: { type: "texts", alias: "trace_model" },
  total_tokens: { alias: "trace_tokens" },
  total_cost: { alias: "trace_cost" },
};

export const runFields: FieldTable = toTable([
  ["id", "uuid", "ID of the run."],
  ["trace_id", "uuid", "ID of the trace, which is the ID of its root run."],
  ["parent_run_id", "uuid", "ID of the parent run; `null` for a root run.", { nullable: true }],
  ["session_id", "uuid", "ID of the project."],
  ["reference_example_id", "uuid", "ID of the example that the run processed.", { nullable: true }],
  ["name", "text", "Name of the run.", { words: "name" }],
  ["run_type", "text", "`llm`, `chain`, `tool`, `retriever`, …", { words: "run_type" }],
  [
    "model",
    "entry",
    "Model that the run calls: `metadata.ls_model_name`; `null` if it names none. In a list of traces, the same as `trace_model`.",
    { group: "metadata", alias: "metadata.ls_model_name" },
  ],
  [
    "trace_model",
    "texts",
    "Models that the runs of the trace call, in runs of the types `llm` and `embedding`.",
  ],
  ["status", "choice", "`pending` until the run has ended.", { choices: runStatuses }],
  ["error", "error", "Error of the run."],
  ["start_time", "time", "Start of the run."],
  ["end_time", "time", "End of the run; `null` while it is pending.", { nullable: true }],
  ["first_token_time", "time", "Time of the first `new_token` event.", { nullable: true }],
  ["latency", "duration", "Time from start to end.", { nullable: true }],
  [
    "first_token",
    "duration",
    "Time from start to the first `new_token` event.",
    { nullable: true },
  ],
  ["is_root", "boolean", "Whether the run has no parent."],
  [
    "execution_order",
    "number",
    "For older clients: 1 for a root run, 2 for all others. In a response, `execution_order` is always 1.",
  ],
  [
    "total_tokens",
    "number",
    "Total tokens that the run reports. In a list of traces, the same as `trace_tokens`.",
    { nullable: true },
  ],
  ["prompt_tokens", "number", "Input tokens.", { nullable: true }],
  ["completion_tokens", "number", "Output tokens.", { nullable: true }],
  [
    "total_cost",
    "number",
    "Total cost, reported or computed. In a list of traces, the same as `trace_cost`.",
    { nullable: true },
  ],
  [
    "trace_tokens",
    "number",
    "Total tokens of the runs of the trace that have the type `llm` or `embedding`.",
    { nullable: true },
  ],
  [
    "trace_cost",
    "number",
    "Total cost of the runs of the trace that have the type `llm` or `embedding`.",
    { nullable: true },
  ],
  ["tags", "texts", "Tags of the run; one of them must match.", { words: "tag" }],
  ["tag", "texts", "Same as `tags`.", { words: "tag" }],
  [
    "thread_id",
    "texts",
    "Metadata `session_id`, `thread_id`, `conversation_id` or `langfuse_session_id`.",
  ],
  ["metadata", "json", "Metadata of the run."],
  ["inputs", "json", "Inputs of the run."],
  ["outputs", "json", "Outputs of the run."],
  ...createEntryRows("metadata", "metadata", { key: "metadata_key", value: "metadata_value" }),
  ...createEntryRows("input", "inputs"),
  ...createEntryRows("output", "outputs"),
  [
    "feedback_key",
    "key",
    "Key of feedback on the run.",
    { group: "feedback", words: "feedback_key" },
  ],
  [
    "feedback_score",
    "number",
    "Score of feedback on the run; true is 1, false is 0.",
    { group: "feedback", nullable: true },
  ],
  ["feedback_value", "value", "Value of feedback on the run.", { group: "feedback" }],
  ["feedback_comment", "value", "Comment of feedback on the run.", { group: "feedback" }],
]);

/**
 * Fields for a list of traces. In it, `model`, `total_tokens` and `total_cost` refer to the whole trace, as the columns
 * and the facet with these names do: the root of a trace seldom calls a model itself.
 */
const traceFields: FieldTable = new Map(
  [...runFields].map(([name, field]) => [name, { ...field, ...traceAliases[name] }]),
);

/**
 * Selects the fields of a list of runs.
 *
 * @param isTraceList - whether the list contains only root runs.
 */
export const selectRunFields = (isTraceList: boolean): FieldTable =>
  isTraceList ? traceFields : runFields;

/** Fields of an example of a dataset. */
export const exampleFields: FieldTable = toTable([
  ["id", "uuid", "ID of the example."],
  ["source_run_id", "uuid", "ID of the run that the example was created from.", { nullable: true }],
  ["created_at", "time", "Time of creation."],
  ["modified_at", "time", "Time of the last change.", { nullable: true }],
  ["split", "texts", "Splits of the example; one of them must match."],
  ["splits", "texts", "Same as `split`."],
  ["metadata", "json", "Metadata of the example."],
  ["inputs", "json", "Inputs of the example."],
  ["outputs", "json", "Outputs of the example."],
  ...createEntryRows("metadata", "metadata"),
  ...createEntryRows("input", "inputs"),
  ...createEntryRows("output", "outputs"),
]);

/** The fields to which a name such as `metadata.user.plan` refers. */
export interface EntryField {
  /** The object that contains the entry. */
  readonly object: Field;
  /** The field for the paths of the object's entries. */
  readonly key: Field;
  /** The field of the entry itself. */
  readonly entry: Field;
  readonly path: string;
}

/** Finds the fields to which the path of an entry refers; `undefined` if the name is not such a path. */
export function findEntryField(name: string, fields: FieldTable): EntryField | undefined {
  const [head = ""] = name.split(".", 1);
  const object = fields.get(head);
  const entry = fields.get(`${head}.${pathPlaceholder}`);
  const key = [...fields.values()].find(({ type, group }) => type === "key" && group === head);
  return name === head || object === undefined || entry === undefined || key === undefined
    ? undefined
    : { object, key, entry: { ...entry, name }, path: name.slice(head.length + 1) };
}

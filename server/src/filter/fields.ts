import type { WordKind } from "millrace/model";
import type { Comparator } from "./ast.ts";

/** What a field holds; decides which comparators and which values it takes. */
export type FieldType =
  /** Equal whatever the case of its letters. */
  | "uuid"
  | "text"
  /** One of a few texts. */
  | "choice"
  /** Microseconds since the Unix epoch. */
  | "time"
  /** Microseconds. */
  | "duration"
  | "number"
  | "boolean"
  /** A text that may be absent, and whose presence alone can be asked for. */
  | "error"
  /** A list of texts. */
  | "texts"
  /** A JSON object. */
  | "json"
  /** The path of an entry of a JSON object, or the key of a feedback. */
  | "key"
  /** Any JSON value. */
  | "value"
  /** The values of a JSON object at a path that the name goes on with. */
  | "entry";

/** Several of a run's things, of which one must meet all conditions of a group. */
export type Group = "metadata" | "inputs" | "outputs" | "feedback";

export interface Field {
  readonly name: string;
  readonly type: FieldType;
  /** Whether it may be compared with `null`. */
  readonly nullable: boolean;
  readonly group?: Group;
  /** The values of a choice. */
  readonly choices?: readonly string[];
  /** The words that are proposed for its value. */
  readonly words?: WordKind;
  /** One sentence for the table of the documentation. */
  readonly doc: string;
}

/** Fields by name, for one kind of thing that is filtered. */
export type FieldTable = ReadonlyMap<string, Field>;

const equality = ["eq", "neq", "in"] as const;
const order = ["gt", "gte", "lt", "lte"] as const;

/** The comparators of each type. */
export const comparatorsOf: { readonly [Type in FieldType]: readonly Comparator[] } = {
  uuid: equality,
  text: [...equality, "like", "search"],
  choice: equality,
  time: ["eq", "neq", ...order],
  duration: ["eq", "neq", ...order],
  number: [...equality, ...order],
  boolean: ["eq", "neq"],
  error: [...equality, "like", "search"],
  texts: ["has", "eq", "neq", "in", "like", "search"],
  json: ["has", "exists", "search"],
  key: [...equality, "like"],
  value: [...equality, ...order, "like", "search"],
  entry: [...equality, ...order, "like", "search", "has", "exists"],
};

/** What the values of each type look like, in the words of messages and of the documentation. */
export const valuesOf: { readonly [Type in FieldType]: string } = {
  uuid: "a UUID in quotes",
  text: "a quoted text",
  choice: "one of its texts in quotes",
  time: "an ISO 8601 time or day in quotes, or epoch milliseconds",
  duration: 'seconds as a number, or a text such as "1.5s", "200ms", "2m", "1h"',
  number: "a number",
  boolean: "true or false",
  error: "a quoted text; null, true and false ask whether there is one",
  texts: "a quoted text",
  json: "the text of a JSON object for has, a quoted text otherwise",
  key: "a quoted text",
  value: "a quoted text, a number, true, false or null",
  entry: "a quoted text, a number, true, false or null; the text of a JSON object for has",
};

/** Whether a type takes texts, numbers, truth values and null, as JSON has them. */
export const isJsonType = (type: FieldType): boolean => type === "value" || type === "entry";

type Row = readonly [
  name: string,
  type: FieldType,
  doc: string,
  rest?: Partial<Pick<Field, "group" | "choices" | "words">> & { readonly nullable?: true },
];

const toTable = (rows: readonly Row[]): FieldTable =>
  new Map(
    rows.map(([name, type, doc, rest = {}]) => [
      name,
      {
        name,
        type,
        doc,
        ...rest,
        nullable: rest.nullable ?? (type === "error" || isJsonType(type)),
      },
    ]),
  );

/** Stands for a path in the name of a field; no filter can write it. */
const anyPath = "<path>";

interface EntryWords {
  readonly key: WordKind;
  readonly value: WordKind;
}

/** `words`: the kinds of words of keys and of values, where runs have them. */
const entryRows = (noun: string, group: Group, words?: EntryWords): Row[] => [
  [
    `${noun}_key`,
    "key",
    `Path of an entry of \`${group}\`, its steps joined by dots; lists add no step.`,
    { group, ...(words && { words: words.key }) },
  ],
  [
    `${noun}_value`,
    "value",
    `Value of an entry of \`${group}\`.`,
    { group, ...(words && { words: words.value }) },
  ],
  [
    `${group}.${anyPath}`,
    "entry",
    `The entry of \`${group}\` at a path.`,
    { group, ...(words && { words: words.value }) },
  ],
];

/** Fields of a run. */
export const runFields: FieldTable = toTable([
  ["id", "uuid", "The run."],
  ["trace_id", "uuid", "Its trace: the id of the root."],
  ["parent_run_id", "uuid", "The run above; `null` for a root.", { nullable: true }],
  ["session_id", "uuid", "The project."],
  ["reference_example_id", "uuid", "The example that it was run on.", { nullable: true }],
  ["name", "text", "Its name.", { words: "name" }],
  ["run_type", "text", "`llm`, `chain`, `tool`, `retriever`, …", { words: "run_type" }],
  [
    "status",
    "choice",
    "`pending` until it has ended.",
    { choices: ["success", "error", "pending"] },
  ],
  ["error", "error", "Text of its error."],
  ["start_time", "time", "When it began."],
  ["end_time", "time", "When it ended; `null` while it is pending.", { nullable: true }],
  ["first_token_time", "time", "When its first `new_token` event came.", { nullable: true }],
  ["latency", "duration", "From start to end.", { nullable: true }],
  ["is_root", "boolean", "Whether it has no parent."],
  ["execution_order", "number", "1 for a root, 2 for what is below; kept for older clients."],
  ["total_tokens", "number", "Tokens, by the usage that it reports.", { nullable: true }],
  ["prompt_tokens", "number", "Tokens read.", { nullable: true }],
  ["completion_tokens", "number", "Tokens written.", { nullable: true }],
  ["total_cost", "number", "Cost, by the usage that it reports.", { nullable: true }],
  ["tags", "texts", "Its tags; one of them must pass.", { words: "tag" }],
  ["tag", "texts", "The same.", { words: "tag" }],
  ["thread_id", "texts", "Metadata `session_id`, `thread_id` or `conversation_id`."],
  ["metadata", "json", "Its metadata."],
  ["inputs", "json", "Its inputs."],
  ["outputs", "json", "Its outputs."],
  ...entryRows("metadata", "metadata", { key: "metadata_key", value: "metadata_value" }),
  ...entryRows("input", "inputs"),
  ...entryRows("output", "outputs"),
  [
    "feedback_key",
    "key",
    "Key of a feedback that it got.",
    { group: "feedback", words: "feedback_key" },
  ],
  [
    "feedback_score",
    "number",
    "Score of a feedback; true is 1, false is 0.",
    { group: "feedback", nullable: true },
  ],
  ["feedback_value", "value", "Value of a feedback.", { group: "feedback" }],
  ["feedback_comment", "value", "Comment of a feedback.", { group: "feedback" }],
]);

/** Fields of an example of a dataset. */
export const exampleFields: FieldTable = toTable([
  ["id", "uuid", "The example."],
  ["source_run_id", "uuid", "The run that it was made of.", { nullable: true }],
  ["created_at", "time", "When it was made."],
  ["modified_at", "time", "When it was last written.", { nullable: true }],
  ["split", "texts", "Its splits; one of them must pass."],
  ["splits", "texts", "The same."],
  ["metadata", "json", "Its metadata."],
  ["inputs", "json", "Its inputs."],
  ["outputs", "json", "Its outputs."],
  ...entryRows("metadata", "metadata"),
  ...entryRows("input", "inputs"),
  ...entryRows("output", "outputs"),
]);

/** The entry that a name such as `metadata.user.plan` means. */
export interface EntryField {
  /** The object that it is of. */
  readonly object: Field;
  /** The field of the paths of the object's entries. */
  readonly key: Field;
  /** The field of the entry itself. */
  readonly entry: Field;
  readonly path: string;
}

/** `undefined` where the name means no entry. */
export function entryOf(name: string, fields: FieldTable): EntryField | undefined {
  const [head = ""] = name.split(".", 1);
  const object = fields.get(head);
  const entry = fields.get(`${head}.${anyPath}`);
  const key = [...fields.values()].find(({ type, group }) => type === "key" && group === head);
  return name === head || object === undefined || entry === undefined || key === undefined
    ? undefined
    : { object, key, entry: { ...entry, name }, path: name.slice(head.length + 1) };
}

import { runFields } from "../../src/filter/fields.ts";
import type { Field } from "../../src/filter/fields.ts";
import { exampleId } from "./filter-corpus.ts";
import { someMicros, wireRun } from "./wire-runs.ts";

/** Filters, and the names of the runs of the corpus that match them. */
export const corpusFilters: readonly (readonly [filter: string, names: readonly string[]])[] = [
  ['eq(run_type, "llm")', ["chat", "chat 2", "pending"]],
  ['and(eq(run_type, "llm"), gt(latency, "5s"))', ["chat 2"]],
  ["and(gt(latency, 1), lt(latency, 5))", ["chat"]],
  ['has(tags, "prod")', ["chat", "root"]],
  ['not(has(tags, "prod"))', ["chat 2", "odd", "patched", "pending", "tool"]],
  ['neq(tags, "prod")', ["chat 2", "odd", "patched", "pending", "tool"]],
  ["eq(tags, null)", ["pending", "tool"]],
  ["neq(tags, null)", ["chat", "chat 2", "odd", "patched", "root"]],
  ["not(tag = null)", ["chat", "chat 2", "odd", "patched", "root"]],
  ["gt(trace_tokens, 0)", ["chat", "chat 2", "pending", "root", "tool"]],
  ["eq(trace_tokens, null)", ["odd", "patched"]],
  ["gte(trace_cost, 0.25)", ["chat", "chat 2", "pending", "root", "tool"]],
  ["eq(trace_model, null)", ["odd", "patched"]],
  ["thread_id != null", ["chat 2", "root"]],
  ['and(eq(metadata_key, "user"), eq(metadata_value, "u1"))', ["chat"]],
  ['and(eq(metadata_key, "user"), eq(metadata_value, "prod"))', []],
  ['and(eq(metadata_key, "user"), neq(metadata_value, "u1"))', ["chat 2"]],
  [
    'and(eq(metadata_key, "user"), or(eq(metadata_value, "u1"), eq(metadata_value, "u2")))',
    ["chat", "chat 2"],
  ],
  [
    'and(eq(metadata_key, "user"), eq(metadata_value, "u1"), eq(metadata_key, "env"), eq(metadata_value, "prod"))',
    ["chat"],
  ],
  ['not(eq(metadata_key, "user"))', ["odd", "patched", "pending", "root", "tool"]],
  ['neq(metadata_key, "user")', ["odd", "patched", "pending", "root", "tool"]],
  ['eq(metadata_key, "new")', ["patched"]],
  ['eq(metadata_key, "old")', []],
  ['has(tags, "replaced")', ["patched"]],
  ['has(tags, "before")', []],
  [`has(metadata, '{"env": "prod"}')`, ["chat"]],
  [`has(metadata, '{"deep": {"list": [{"b": 2}, 1]}}')`, ["chat 2"]],
  [`has(metadata, '{"deep": {"list": [3]}}')`, []],
  ["has(metadata, '{}')", ["chat", "chat 2", "odd", "patched", "root"]],
  ['exists(metadata, "deep.list")', ["chat 2"]],
  ['eq(metadata_key, "deep.list.b")', ["chat 2"]],
  ['and(eq(metadata_key, "score"), gte(metadata_value, 0.7))', ["chat"]],
  ['and(eq(metadata_key, "score"), eq(metadata_value, "0.7"))', ["chat"]],
  ['eq(metadata.user, "u1")', ["chat"]],
  ['neq(metadata.user, "u1")', ["chat 2", "odd", "patched", "pending", "root", "tool"]],
  [
    'and(neq(metadata.deep.list.b, 2), neq(metadata.user, "u1"))',
    ["odd", "patched", "pending", "root", "tool"],
  ],
  ['or(eq(metadata.user, "u1"), eq(metadata.user, "u2"))', ["chat", "chat 2"]],
  ['and(eq(metadata.user, "u1"), eq(metadata.env, "prod"), eq(metadata_value, 0.7))', ["chat"]],
  ['and(eq(metadata.user, "prod"), eq(metadata.env, "prod"))', []],
  ["and(gt(metadata.score, 0.1), lt(metadata.score, 0.5))", ["chat 2"]],
  ['in(metadata.score, [0.7, "0.2"])', ["chat", "chat 2"]],
  ["gte(metadata.user, 0)", []],
  ["eq(metadata.cached, true)", ["chat 2"]],
  ["eq(metadata.deep.list, 1)", ["chat 2"]],
  ["eq(metadata.deep.list.c, null)", ["chat 2"]],
  ["exists(metadata.deep.list.c)", ["chat 2"]],
  ['exists(metadata.deep, "list.c")', ["chat 2"]],
  ["exists(metadata.new)", ["patched"]],
  ["exists(metadata.old)", []],
  [`has(metadata.deep, '{"list": [{"b": 2}, 1]}')`, ["chat 2"]],
  [`has(metadata.deep.list, '{"b": 2}')`, ["chat 2"]],
  [`has(metadata.user, '{}')`, []],
  ["eq(inputs.a.b, 1)", ["odd"]],
  ['like(inputs.messages.content, "%World")', ["chat"]],
  ['search(outputs.text, "HI")', ["chat"]],
  ["eq(outputs.zero, 0)", ["odd"]],
  ["eq(metadata_value, true)", ["chat 2"]],
  ['eq(metadata_value, "true")', ["chat 2"]],
  ['in(name, ["chat", "tool"])', ["chat", "tool"]],
  ["neq(error, null)", ["tool"]],
  ["eq(error, true)", ["tool"]],
  ['eq(error, "Timeout: no answer")', ["tool"]],
  ['search(error, "timeout")', ["tool"]],
  ['neq(error, "Timeout: no answer")', ["chat", "chat 2", "odd", "patched", "pending", "root"]],
  ['eq(status, "pending")', ["odd", "patched", "pending"]],
  ['in(status, ["error", "success"])', ["chat", "chat 2", "root", "tool"]],
  ['gt(start_time, "2026-11-21T10:11:12.345680Z")', ["odd", "patched", "pending", "tool"]],
  ["eq(end_time, null)", ["odd", "patched", "pending"]],
  ["eq(is_root, true)", ["odd", "patched", "root"]],
  ["neq(is_root, true)", ["chat", "chat 2", "pending", "tool"]],
  ["eq(execution_order, 1)", ["odd", "patched", "root"]],
  ["eq(parent_run_id, null)", ["odd", "patched", "root"]],
  ["gt(total_tokens, 10)", ["chat"]],
  ["eq(prompt_tokens, 7)", ["chat 2"]],
  ["neq(first_token_time, null)", ["chat"]],
  ['and(gt(first_token, 0), lt(first_token, "800ms"))', ["chat"]],
  ["gt(first_token, 5)", []],
  ['lt(first_token_time, "2026-11-21T10:11:13Z")', ["chat"]],
  [`eq(reference_example_id, "${exampleId.toUpperCase()}")`, ["root"]],
  ['eq(trace_model, "mill-1")', ["chat", "chat 2", "pending", "root", "tool"]],
  ['eq(model, "mill-1")', ["chat"]],
  ['eq(thread_id, "t-1")', ["chat 2", "root"]],
  ['search("WORLD")', ["chat", "odd"]],
  ['search(inputs, "world")', ["chat"]],
  ['and(eq(input_key, "messages.content"), like(input_value, "%World%"))', ["chat"]],
  ['and(eq(input_key, "messages.content"), like(input_value, "%world%"))', []],
  ['like(name, "chat%")', ["chat", "chat 2"]],
  ['like(name, "c_at _")', ["chat 2"]],
  ['like(name, "%oo%")', ["root", "tool"]],
  ['like(output_value, "%*[?]")', ["chat 2"]],
  ['has(tags, "nul\\u0000inside")', ["odd"]],
  ['has(tags, "nul")', []],
  ['eq(metadata_value, "\\ud800")', ["odd"]],
  ['eq(metadata_key, "lone\\udfff")', ["odd"]],
  ['eq(metadata_value, "\\ufffd")', []],
  [`has(metadata, '{"lone\\udfff": "\\ud800"}')`, ["odd"]],
  ['eq(metadata_key, "quoted\\"key")', ["odd"]],
  ['eq(input_value, "<b>&amp;</b>")', ["odd"]],
  ['eq(output_value, "\'; DROP TABLE runs; --")', ["odd"]],
  ['and(eq(feedback_key, "helpful"), gte(feedback_score, 0.5))', ["chat"]],
  ['and(eq(feedback_key, "helpful"), lt(feedback_score, 0.5))', ["chat 2"]],
  ['and(eq(feedback_key, "helpful"), eq(feedback_value, "good"))', []],
  ['and(eq(feedback_key, "correct"), eq(feedback_value, "good"))', ["chat"]],
  ["neq(feedback_score, null)", ["chat 2", "odd", "patched", "pending", "root", "tool"]],
  ['like(feedback_comment, "%well%")', ["chat"]],
];

/** Metadata of runs, by their names, that name a user or a thread by different keys. */
export const metadataOfUsers: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  ann: { user_id: "ann" },
  "ann of langfuse": { langfuse_user_id: "ann" },
  both: { user_id: "ben", langfuse_user_id: "ann" },
  ben: { user_id: "ben" },
  nobody: {},
  thread: { langfuse_session_id: "t" },
};

/** Filters, and the names of the runs with {@link metadataOfUsers} that match them. */
export const userFilters: readonly (readonly [filter: string, names: readonly string[]])[] = [
  ["user = ann", ["ann", "ann of langfuse", "both"]],
  ["user_id = ben", ["ben", "both"]],
  ["user != ann", ["ben", "nobody", "thread"]],
  ["not (user = ann or user = ben)", ["nobody", "thread"]],
  ["user in [ann, ben]", ["ann", "ann of langfuse", "ben", "both"]],
  ['user like "b%"', ["ben", "both"]],
  ["user = ann and metadata.user_id = ben", ["both"]],
  ["metadata.user_id = ann", ["ann"]],
  ['exists(user, "x")', []],
  ["thread = t", ["thread"]],
  ["thread_id != null", ["thread"]],
];

/**
 * Runs for the comparisons of each field with null: `full` has every field, `bare` has none that can be absent, and
 * `nulls` has entries whose values are null. `full` has a parent, so that its trace differs from those of the others.
 */
export function createRunsWithNulls() {
  const parent = wireRun({ name: "parent of full" });
  const full = wireRun({
    name: "full",
    parent,
    run_type: "llm",
    reference_example_id: exampleId,
    end_time: someMicros / 1_000 + 2_000,
    error: "boom",
    tags: ["t"],
    events: [{ name: "new_token", time: "2026-11-21T10:11:12.900Z" }],
    inputs: { ls_model_name: "m" },
    outputs: {
      ls_model_name: "m",
      usage_metadata: { total_tokens: 12, input_tokens: 5, output_tokens: 7, total_cost: 0.5 },
    },
    extra: { metadata: { ls_model_name: "m", user_id: "u", version: "1", thread_id: "t" } },
  });
  const entry = { ls_model_name: null };
  const metadata = { ...entry, user_id: null, version: null, thread_id: null };
  const nulls = wireRun({ name: "nulls", inputs: entry, outputs: entry, extra: { metadata } });
  return {
    post: [parent, full, wireRun({ name: "bare" }), nulls],
    feedback: [
      { run: full.id, key: "k", score: 1, value: "v", comment: "c" },
      { run: nulls.id, key: "k", score: null },
    ],
  };
}

type NullFilter = readonly [filter: string, names: readonly string[]];

/** Stands for the result of a filter that is refused. */
const refused: readonly string[] = ["refused"];

const allNullFilters: readonly NullFilter[] = [
  ...[...runFields.values()].flatMap(listNullFilters),
  // Common names of fields.
  ...["user", "user_id", "version", "tokens", "cost", "duration", "end", "thread"].flatMap((name) =>
    listFiltersOfAbsence(name),
  ),
  ["in(model, [null])", ["bare", "nulls"]],
  ['in(model, [null, "m"])', ["bare", "full", "nulls"]],
  ["in(user, [null])", ["bare", "nulls"]],
  ["not exists(model) and not exists(metadata)", ["bare"]],
  ["exists(metadata) and metadata_key = version and metadata_value = '1'", ["full"]],
  ['and(eq(metadata_key, "version"), exists(model), eq(metadata_value, "1"))', ["full"]],
];

/**
 * For each field of runs, its comparisons with null and its `exists`, with the names of the runs of
 * {@link createRunsWithNulls} that match, other than the parent.
 */
export const nullFilters = allNullFilters.filter(([, names]) => names !== refused);

/** Comparisons with null and `exists` of fields that can't be absent. */
export const refusedNullFilters = allNullFilters
  .filter(([, names]) => names === refused)
  .map(([filter]) => filter);

/** The filters of a field whose value may be absent. An entry that is null counts as absent. */
function listFiltersOfAbsence(name: string): readonly NullFilter[] {
  return [
    [`${name} = null`, ["bare", "nulls"]],
    [`${name} is null`, ["bare", "nulls"]],
    [`not(neq(${name}, null))`, ["bare", "nulls"]],
    [`${name} != null`, ["full"]],
    [`exists(${name})`, ["full"]],
    [`not exists(${name})`, ["bare", "nulls"]],
  ];
}

function listNullFilters({
  name: nameWithPlaceholder,
  type,
  nullable,
  group,
  alias,
}: Field): readonly NullFilter[] {
  const name = nameWithPlaceholder.replace("<path>", "ls_model_name");
  if (group === undefined || alias !== undefined) {
    if (nullable || type === "texts") {
      return listFiltersOfAbsence(name);
    }
    return [
      [`${name} = null`, refused],
      [`${name} != null`, refused],
      [`exists(${name})`, type === "json" ? ["full", "nulls"] : refused],
    ];
  }
  // These are conditions on an entry, which may be null.
  return [
    [`${name} = null`, nullable ? ["nulls"] : refused],
    [`${name} != null`, nullable ? ["bare", "full"] : refused],
    [`exists(${name})`, type === "entry" ? ["full", "nulls"] : refused],
  ];
}

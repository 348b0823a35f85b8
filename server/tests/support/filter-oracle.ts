import type { FieldName, Filter, Literal } from "../../src/filter/ast.ts";
import { parseTime } from "../../src/model/parse-time.ts";
import {
  compareJson,
  compareScalar,
  contains,
  flatten,
  containsIgnoringCase,
  isObject,
  textOf,
  valuesOf,
} from "./oracle-values.ts";
import type { Comparison } from "./oracle-values.ts";
import type { WireObject } from "./store-fixture.ts";

/** What the oracle evaluates: a run as it is read back, and its feedback. */
export interface EvaluatedRun {
  readonly run: WireObject;
  readonly feedback: readonly WireObject[];
  /** All runs of its trace. @defaultValue the run alone */
  readonly traceRuns?: readonly WireObject[];
}

/** The semantics of the filter language, implemented independently: whether a run matches a filter. */
export function matches(filter: Filter, judged: EvaluatedRun): boolean {
  switch (filter.kind) {
    case "and":
      return meetsAll(filter.parts, judged);
    case "or":
      return filter.parts.some((part) => matches(part, judged));
    case "not":
      return !matches(filter.part, judged);
    case "exists":
      return hasValue(filter.field, judged);
    case "comparison": {
      if (filter.field === undefined) {
        return searchedTexts(judged).some((text) =>
          containsIgnoringCase(text, textOf(filter.operand)),
        );
      }
      return meetsComparison(filter, judged);
    }
  }
}

type Entry = Readonly<Record<string, unknown>>;

const pairs: Readonly<Record<string, string>> = {
  metadata_key: "metadata",
  metadata_value: "metadata",
  input_key: "inputs",
  input_value: "inputs",
  output_key: "outputs",
  output_value: "outputs",
  feedback_key: "feedback",
  feedback_score: "feedback",
  feedback_value: "feedback",
  feedback_comment: "feedback",
};

const nothing: Literal = { kind: "null", offset: 0, length: 0 };

function leavesOf(filter: Filter): Comparison[] {
  switch (filter.kind) {
    case "and":
    case "or":
      return filter.parts.flatMap(leavesOf);
    case "not":
      return leavesOf(filter.part);
    case "exists":
      return [{ ...filter, kind: "comparison", comparator: "exists", operand: nothing }];
    case "comparison":
      return [filter];
  }
}

const nameOf = (leaf: Comparison): string => leaf.field?.name ?? "";
const isKey = (leaf: Comparison): boolean => nameOf(leaf).endsWith("_key");

/** Evaluates an `and`: groups its parts that must match the same entry, and evaluates the others on their own. */
function meetsAll(parts: readonly Filter[], judged: EvaluatedRun): boolean {
  const bundles: { group: string; parts: Filter[]; hasKey: boolean }[] = [];
  const alone: Filter[] = [];
  for (const part of parts) {
    const leaves = leavesOf(part);
    const groups = new Set(leaves.map((leaf) => pairs[nameOf(leaf)]));
    const [group] = groups;
    const allKeys = leaves.every((leaf) => isKey(leaf));
    const noKeys = leaves.every((leaf) => !isKey(leaf));
    const joins = noKeys || (allKeys && !isNegated(part));
    if (groups.size !== 1 || group === undefined || !joins) {
      alone.push(part);
      continue;
    }
    const last = bundles.findLast((bundle) => bundle.group === group);
    if (last === undefined || (allKeys && last.hasKey)) {
      bundles.push({ group, parts: [part], hasKey: allKeys });
    } else {
      last.parts.push(part);
      last.hasKey ||= allKeys;
    }
  }
  for (const bundle of bundles.filter(({ hasKey }) => !hasKey)) {
    alone.push(...bundle.parts.filter((part) => isOpposite(part)));
    bundle.parts = bundle.parts.filter((part) => !isOpposite(part));
  }
  return (
    alone.every((part) => matches(part, judged)) &&
    bundles.every(
      ({ group, parts: together }) =>
        together.length === 0 ||
        entriesOf(group, judged).some((entry) => together.every((part) => suits(part, entry))),
    )
  );
}

const isOpposite = (part: Filter): boolean =>
  part.kind === "not" || (part.kind === "comparison" && part.comparator === "neq");

/** Whether a part on keys contains a negation: it then applies to all entries. */
const isNegated = (part: Filter): boolean =>
  isOpposite(part) ||
  ((part.kind === "and" || part.kind === "or") && part.parts.some((inner) => isNegated(inner)));

/** Whether one entry matches a part. */
function suits(part: Filter, entry: Entry): boolean {
  switch (part.kind) {
    case "and":
      return part.parts.every((inner) => suits(inner, entry));
    case "or":
      return part.parts.some((inner) => suits(inner, entry));
    case "not":
      return !suits(part.part, entry);
    case "exists":
      return false;
    case "comparison": {
      const value = isKey(part) ? entry["key"] : entry[nameOf(part)];
      return compareJson(value, part);
    }
  }
}

function entriesOf(group: string, { run, feedback }: EvaluatedRun): Entry[] {
  if (group === "feedback") {
    return feedback.map((one) => ({
      key: one["key"],
      feedback_score: typeof one["score"] === "boolean" ? Number(one["score"]) : one["score"],
      feedback_value: one["value"],
      feedback_comment: one["comment"],
    }));
  }
  const value = { metadata: "metadata_value", inputs: "input_value", outputs: "output_value" };
  return flatten(objectOf(group, run)).map(([key, inner]) => ({
    key,
    [value[group as keyof typeof value]]: inner,
  }));
}

function objectOf(name: string, run: WireObject): unknown {
  if (name !== "metadata") {
    return run[name];
  }
  const extra = run["extra"];
  return isObject(extra) ? extra["metadata"] : undefined;
}

function searchedTexts({ run }: EvaluatedRun): string[] {
  const texts = (value: unknown): string[] => {
    if (typeof value === "string") {
      return [value];
    }
    return typeof value === "object" && value !== null ? Object.values(value).flatMap(texts) : [];
  };
  const objects = ["inputs", "outputs", "metadata"].map((name) => objectOf(name, run));
  const tags = Array.isArray(run["tags"]) ? run["tags"] : [];
  return [...texts([run["name"], ...objects.filter(isObject), tags]), ...errorTexts(run)];
}

const errorTexts = ({ error }: WireObject): string[] =>
  error === null || error === undefined || error === ""
    ? []
    : [typeof error === "string" ? error : JSON.stringify(error)];

/** Whether a field has a value, and an object an entry. */
function hasValue(field: FieldName, judged: EvaluatedRun): boolean {
  return ["metadata", "inputs", "outputs"].includes(field.name)
    ? flatten(objectOf(field.name, judged.run)).length > 0
    : !meetsComparison(
        { kind: "comparison", comparator: "eq", field, operand: nothing, offset: 0, length: 0 },
        judged,
      );
}

/** Whether a run names its model. An entry that is null names none. */
const namesModel = (run: WireObject): boolean =>
  flatten(objectOf("metadata", run)).some(
    ([path, value]) => path === "ls_model_name" && value !== null,
  );

function meetsComparison(filter: Comparison, judged: EvaluatedRun): boolean {
  const { comparator, operand } = filter;
  if (nameOf(filter) === "model" && operand.kind === "null") {
    return namesModel(judged.run) === (comparator === "neq");
  }
  if (nameOf(filter) === "model" && operand.kind === "list") {
    const items = operand.items.filter(({ kind }) => kind !== "null");
    if (items.length < operand.items.length) {
      const rest = { ...filter, operand: { ...operand, items } };
      return !namesModel(judged.run) || meetsComparison(rest, judged);
    }
  }
  // `model` is another name of this entry.
  const name = nameOf(filter) === "model" ? "metadata.ls_model_name" : nameOf(filter);
  const { run } = judged;
  const group = pairs[name];
  if (group !== undefined) {
    const isDenial = comparator === "neq";
    const asked = isDenial ? { ...filter, comparator: "eq" as const } : filter;
    return entriesOf(group, judged).some((entry) => suits(asked, entry)) !== isDenial;
  }
  const dot = name.indexOf(".");
  if (dot !== -1) {
    return meetsEntry(filter, {
      object: objectOf(name.slice(0, dot), run),
      path: name.slice(dot + 1),
    });
  }
  if (name === "metadata" || name === "inputs" || name === "outputs") {
    const object = objectOf(name, run);
    if (comparator === "has") {
      const wanted: unknown = JSON.parse(textOf(operand));
      return isObject(object) && contains(object, wanted);
    }
    return comparator === "exists"
      ? flatten(object).some(([path]) => path === textOf(operand))
      : isObject(object) &&
          leafTexts(object).some((text) => containsIgnoringCase(text, textOf(operand)));
  }
  if (name === "trace_model") {
    const isDenial = comparator === "neq";
    const asked = { ...filter, comparator: isDenial ? ("eq" as const) : comparator };
    return meetsTexts((judged.traceRuns ?? [run]).flatMap(modelsOf), asked) !== isDenial;
  }
  if (name === "tags" || name === "tag" || name === "thread_id") {
    const isDenial = comparator === "neq";
    const asked = { ...filter, comparator: isDenial ? ("eq" as const) : comparator };
    return meetsTexts(listOf(name, run), asked) !== isDenial;
  }
  if (name === "error") {
    return compareErrors(filter, run);
  }
  const measure = traceMeasures[name];
  return compareScalar(
    measure === undefined ? scalarOf(name, run) : sumOfCalls(measure, judged.traceRuns ?? [run]),
    filter,
  );
}

/** The measures of runs that are summed over the model calls of a trace, by the fields for the sums. */
const traceMeasures: Readonly<Record<string, string>> = {
  trace_tokens: "total_tokens",
  trace_cost: "total_cost",
};

function sumOfCalls(measure: string, runs: readonly WireObject[]): number | null {
  const values = runs
    .filter(isModelCall)
    .map((run) => usageOf(measure, run))
    .filter((value) => value !== null);
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0);
}

/** Whether one of the texts matches a comparison; `null` stands for no text at all. */
const meetsTexts = (list: readonly string[], filter: Comparison): boolean =>
  filter.operand.kind === "null"
    ? list.length === 0
    : list.some((text) => compareScalar(text, filter));

/** Whether a value at a path matches a comparison; if there is no value, only `neq` matches. */
function meetsEntry(
  { comparator, operand, ...rest }: Comparison,
  { object, path }: { readonly object: unknown; readonly path: string },
): boolean {
  const at = (wanted: string): unknown[] =>
    flatten(object).flatMap(([key, value]) => (key === wanted ? [value] : []));
  if (comparator === "exists") {
    return at(`${path}.${textOf(operand)}`).length > 0;
  }
  if (comparator === "has") {
    const wanted: unknown = JSON.parse(textOf(operand));
    return at(path).some((value) => contains(value, wanted));
  }
  const asked = comparator === "neq" ? ("eq" as const) : comparator;
  const isMet = at(path).some((value) =>
    compareJson(value, { comparator: asked, operand, ...rest }),
  );
  return isMet !== (comparator === "neq");
}

/** The model that a run calls, if it calls one. */
function modelsOf(run: WireObject): readonly string[] {
  const metadata = objectOf("metadata", run);
  const model = isObject(metadata) ? metadata["ls_model_name"] : undefined;
  return isModelCall(run) && typeof model === "string" ? [model] : [];
}

const isModelCall = (run: WireObject): boolean =>
  run["run_type"] === "llm" || run["run_type"] === "embedding";

const leafTexts = (value: unknown): string[] =>
  flatten({ value }).flatMap(([, inner]) => (typeof inner === "string" ? [inner] : []));

function listOf(name: string, run: WireObject): string[] {
  const metadata = objectOf("metadata", run);
  const values: unknown =
    name === "thread_id"
      ? ["session_id", "thread_id", "conversation_id", "langfuse_session_id"].map((key) =>
          isObject(metadata) ? metadata[key] : undefined,
        )
      : run["tags"];
  return Array.isArray(values) ? values.filter((value) => typeof value === "string") : [];
}

function compareErrors(filter: Comparison, run: WireObject): boolean {
  if (filter.comparator === "neq") {
    return !compareErrors({ ...filter, comparator: "eq" }, run);
  }
  const [error] = errorTexts(run);
  return valuesOf(filter.operand).some((value) => {
    if (typeof value !== "string") {
      return (error !== undefined) === (value === true);
    }
    const operand: Literal = { kind: "text", text: value, offset: 0, length: 0 };
    const comparator = filter.comparator === "in" ? "eq" : filter.comparator;
    return error !== undefined && compareScalar(error, { ...filter, comparator, operand });
  });
}

/** A column of the run, in the unit in which it is compared. */
function scalarOf(name: string, run: WireObject): unknown {
  const micros = (value: unknown): number | null => parseTime(value) ?? null;
  const [start, end] = [micros(run["start_time"]), micros(run["end_time"])];
  const events = Array.isArray(run["events"]) ? run["events"].filter(isObject) : [];
  const firstToken = micros(events.find((event) => event["name"] === "new_token")?.["time"]);
  switch (name) {
    case "start_time":
      return start;
    case "end_time":
      return end;
    case "latency":
      return start === null || end === null ? null : end - start;
    case "is_root":
      return run["parent_run_id"] === null;
    case "execution_order":
      return run["parent_run_id"] === null ? 1 : 2;
    case "total_tokens":
    case "prompt_tokens":
    case "completion_tokens":
    case "total_cost":
      return usageOf(name, run);
    case "first_token_time":
      return firstToken;
    case "first_token":
      return start === null || firstToken === null ? null : firstToken - start;
    default:
      return run[name];
  }
}

function usageOf(name: string, run: WireObject): number | null {
  const wire: Readonly<Record<string, string>> = {
    prompt_tokens: "input_tokens",
    completion_tokens: "output_tokens",
  };
  const values = [run["outputs"], objectOf("metadata", run)].map((place) => {
    const usage = isObject(place) ? place["usage_metadata"] : undefined;
    return isObject(usage) ? usage[wire[name] ?? name] : undefined;
  });
  return values.find((value) => typeof value === "number") ?? null;
}

import { isObject, isTime, isUuid, typeProblems } from "./check-type.ts";
import type { TypeProblem } from "./check-type.ts";
import { positionProblems } from "./dotted-order.ts";
import type { DottedRule, RunPosition } from "./dotted-order.ts";
import { shapeOf } from "./platform-facts.ts";
import type { Violation } from "./received-request.ts";

export type RunRule =
  | "run-object"
  | "run-required"
  | "run-type"
  | "run-time"
  | TypeProblem["rule"]
  | DottedRule;

export type Run = Readonly<Record<string, unknown>>;

/** The fields that are sent as separate parts. */
export const largeFields: readonly string[] = [
  "inputs",
  "outputs",
  "events",
  "error",
  "extra",
  "serialized",
];

const runTypes: ReadonlySet<unknown> = new Set([
  "tool",
  "chain",
  "llm",
  "retriever",
  "embedding",
  "prompt",
  "parser",
]);

/** Members in the platform's documentation ("Runs") that its description lacks. */
const alsoRight = new Set(["runs.Run.child_runs"]);

/** Members that LangChain's tracing library sends as `null` when they have no value. */
const mayBeNull = new Set([
  "end_time",
  "error",
  "outputs",
  "parent_run_id",
  "reference_example_id",
]);

/**
 * Checks a run, or part of one, by itself. `isPlaced`: whether it must contain its dotted order, as every
 * run of a batch must.
 */
export function runProblems(
  run: unknown,
  { at, isPlaced }: { readonly at: string; readonly isPlaced: boolean },
): Violation<RunRule>[] {
  if (!isObject(run)) {
    return [{ rule: "run-object", detail: at }];
  }
  const required = isPlaced ? ["id", "trace_id", "dotted_order"] : [];
  const problems: Violation<RunRule>[] = required
    .filter((name) => typeof run[name] !== "string")
    .map((name) => ({ rule: "run-required", detail: `${at}.${name}` }));
  for (const name of ["id", "trace_id", "parent_run_id", "reference_example_id", "session_id"]) {
    const id = run[name];
    if (typeof id === "string" && !isUuid(id)) {
      problems.push({ rule: "member-type", detail: `${at}.${name} is ${id}, not uuid` });
    }
  }
  if (run["run_type"] !== undefined && !runTypes.has(run["run_type"])) {
    problems.push({
      rule: "run-type",
      detail: `${at}.run_type is ${JSON.stringify(run["run_type"])}`,
    });
  }
  for (const name of ["start_time", "end_time"]) {
    if (!isRunTime(run[name]) && !(name === "end_time" && run[name] === null)) {
      problems.push({ rule: "run-time", detail: `${at}.${name} is ${JSON.stringify(run[name])}` });
    }
  }
  return [
    ...problems,
    ...typeProblems(checkable(run), "@runs.Run", { at, isClosed: true, alsoRight }),
    ...(isPlaceable(run) ? positionProblems(run) : []),
  ];
}

/** Checks the value of a part that contains one field of a run. */
export function fieldProblems(field: string, value: unknown, at: string): Violation<RunRule>[] {
  const type = shapeOf("runs.Run").find(({ name }) => name === field)?.type ?? "any";
  return mayBeNull.has(field) && value === null
    ? []
    : typeProblems(value, type, { at, isClosed: false });
}

/** Whether a value is ISO 8601 with at most microseconds, or milliseconds since the epoch. */
const isRunTime = (value: unknown): boolean =>
  value === undefined ||
  (typeof value === "string" && isTime(value) && value.includes("T")) ||
  (typeof value === "number" && Number.isFinite(value) && value >= 0);

/** The run without the members that have their own rules. */
function checkable(run: Run): Run {
  const checkedSeparately = new Set(["run_type", "start_time", "end_time"]);
  return Object.fromEntries(
    Object.entries(run).filter(
      ([name, value]) => !checkedSeparately.has(name) && !(value === null && mayBeNull.has(name)),
    ),
  );
}

const isPlaceable = (run: Run): run is Run & RunPosition =>
  typeof run["id"] === "string" && typeof run["dotted_order"] === "string";

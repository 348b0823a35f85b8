import type { WirePost } from "millrace";
import type { KeyValues, RunExtra } from "millrace/model";
import { omitUndefined } from "../../omit-undefined.ts";
import {
  isObject,
  toList,
  toNumber,
  toObject,
  toText,
  toTexts,
  toTime,
} from "../model/json-values.ts";

/** The fields that are requested for each run. */
export const selectedFields = [
  "id",
  "name",
  "run_type",
  "start_time",
  "end_time",
  "status",
  "error",
  "extra",
  "events",
  "inputs",
  "inputs_s3_urls",
  "outputs",
  "outputs_s3_urls",
  "s3_urls",
  "parent_run_id",
  "serialized",
  "reference_example_id",
  "total_tokens",
  "prompt_tokens",
  "prompt_token_details",
  "completion_tokens",
  "completion_token_details",
  "total_cost",
  "prompt_cost",
  "completion_cost",
  "first_token_time",
  "trace_id",
  "dotted_order",
  "tags",
] as const;

/** Payloads that the server stores separately from the run because of their size. */
export interface DetachedPayloads {
  readonly inputs?: unknown;
  readonly outputs?: unknown;
}

/**
 * Converts a run from the response of `POST /runs/query` to a run to create, with the same id, times and position in
 * the trace.
 */
export function toRunRow(
  run: KeyValues,
  projectName: string,
  detached: DetachedPayloads = {},
): WirePost {
  return omitUndefined({
    id: toText(run["id"]) ?? "",
    name: toText(run["name"]) ?? "run",
    run_type: toText(run["run_type"]) ?? "chain",
    start_time: toTime(run["start_time"]),
    end_time: toTime(run["end_time"]),
    error: toText(run["error"]),
    inputs: toPayload(run["inputs"]) ?? toPayload(detached.inputs) ?? {},
    outputs: toPayload(run["outputs"]) ?? toPayload(detached.outputs),
    extra: addUsage(run),
    events: addFirstToken(run),
    serialized: isObject(run["serialized"]) ? run["serialized"] : undefined,
    tags: toTexts(run["tags"]),
    parent_run_id: toText(run["parent_run_id"]),
    trace_id: toText(run["trace_id"]),
    dotted_order: toText(run["dotted_order"]),
    reference_example_id: toText(run["reference_example_id"]),
    session_name: projectName,
  });
}

const toPayload = (value: unknown): KeyValues | undefined => (isObject(value) ? value : undefined);

/**
 * The types of runs that have their own token counts and costs. The token counts and costs of other runs are sums over
 * their children.
 */
const modelCallTypes: ReadonlySet<unknown> = new Set(["llm", "embedding"]);

/**
 * Adds the tokens and costs that the source computed to the usage metadata, unless the run reports them itself. Without
 * them, the target would compute the costs again, with its own prices.
 */
function addUsage(run: KeyValues): RunExtra {
  const extra = toObject(run["extra"]);
  if (!modelCallTypes.has(run["run_type"])) {
    return extra;
  }
  const metadata = toObject(extra["metadata"]);
  const computed = omitUndefined({
    input_tokens: toPositive(run["prompt_tokens"]),
    output_tokens: toPositive(run["completion_tokens"]),
    total_tokens: toPositive(run["total_tokens"]),
    input_token_details: toPayload(run["prompt_token_details"]),
    output_token_details: toPayload(run["completion_token_details"]),
    input_cost: toNumber(run["prompt_cost"]),
    output_cost: toNumber(run["completion_cost"]),
    total_cost: toNumber(run["total_cost"]),
  });
  if (Object.keys(computed).length === 0) {
    return extra;
  }
  const usage = { ...computed, ...toObject(metadata["usage_metadata"]) };
  return { ...extra, metadata: { ...metadata, usage_metadata: usage } };
}

/** Returns a positive number, otherwise `undefined`: servers return zero for runs that report no tokens. */
function toPositive(value: unknown): number | undefined {
  const number = toNumber(value);
  return number === undefined || number <= 0 ? undefined : number;
}

/** Adds an event for the first token, because the target server takes the time of the first token from an event. */
function addFirstToken(run: KeyValues): readonly unknown[] {
  const events = toList(run["events"]);
  const time = toTime(run["first_token_time"]);
  return time === undefined || events.some((event) => toObject(event)["name"] === "new_token")
    ? events
    : [...events, { name: "new_token", time }];
}

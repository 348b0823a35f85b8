import type { WirePost } from "millrace";
import type { KeyValues, RunType } from "millrace/model";
import { omitUndefined } from "../../omit-undefined.ts";
import { isObject, toObject, toText, toTexts, toTime } from "../model/json-values.ts";
import { toInputs, toMetadata, toOutputs } from "./payloads.ts";
import { toUsageMetadata } from "./usage-metadata.ts";

/**
 * Run types by the type of an observation. Other observations become runs of type `chain`. The metadata contains the
 * original type.
 */
const runTypesByType: ReadonlyMap<string, RunType> = new Map([
  ["GENERATION", "llm"],
  ["EMBEDDING", "embedding"],
  ["TOOL", "tool"],
  ["RETRIEVER", "retriever"],
]);

/** The position of a run in its trace. */
export interface RunPosition {
  readonly id: string;
  readonly traceId: string;
  readonly parentId: string | undefined;
  readonly dottedOrder: string;
  readonly projectName: string;
}

/** Values that all runs of a trace share. */
export interface TraceContext {
  readonly traceId: string;
  readonly sessionId: string | undefined;
  readonly userId: string | undefined;
}

/** Converts a trace to the root run above its observations. */
export function toTraceRow(
  trace: KeyValues,
  position: RunPosition,
  { context, endTime }: { readonly context: TraceContext; readonly endTime: string | undefined },
): WirePost {
  const start = toTime(trace["timestamp"]);
  return omitUndefined({
    ...toPosition(position),
    name: toText(trace["name"]) ?? "trace",
    run_type: "chain",
    start_time: start,
    end_time: endTime ?? start,
    inputs: toInputs(trace["input"]),
    outputs: toOutputs(trace["output"]),
    tags: toTexts(trace["tags"]),
    extra: {
      metadata: {
        ...toMetadata(trace["metadata"]),
        ...toSharedMetadata(trace, context),
        ...omitUndefined({ langfuse_release: toText(trace["release"]) }),
        langfuse_type: "TRACE",
      },
    },
  });
}

/** Converts an observation to a run. */
export function toObservationRow(
  observation: KeyValues,
  position: RunPosition,
  context: TraceContext,
): WirePost {
  const type = (toText(observation["type"]) ?? "SPAN").toUpperCase();
  const start = toTime(observation["startTime"]);
  // In version 4 of Langfuse, this member is named `providedModelName`.
  const model = toText(observation["model"]) ?? toText(observation["providedModelName"]);
  const parameters = toObject(observation["modelParameters"]);
  const level = toText(observation["level"]);
  const statusMessage = toText(observation["statusMessage"]);
  const firstToken = toTime(observation["completionStartTime"]);
  return omitUndefined({
    ...toPosition(position),
    name: toText(observation["name"]) ?? type.toLowerCase(),
    run_type: runTypesByType.get(type) ?? "chain",
    start_time: start,
    // An event has no duration.
    end_time: toTime(observation["endTime"]) ?? (type === "EVENT" ? start : undefined),
    error: level === "ERROR" ? (statusMessage ?? "The observation has the level ERROR") : undefined,
    inputs: toInputs(observation["input"]),
    outputs: toOutputs(observation["output"]),
    events: firstToken === undefined ? undefined : [{ name: "new_token", time: firstToken }],
    extra: omitUndefined({
      invocation_params:
        Object.keys(parameters).length === 0 ? undefined : omitUndefined({ model, ...parameters }),
      metadata: {
        ...toMetadata(observation["metadata"]),
        ...toSharedMetadata(observation, context),
        ...omitUndefined({
          ls_model_name: model,
          usage_metadata: toUsageMetadata(observation),
          prompt_name: toText(observation["promptName"]),
          langfuse_prompt_version: observation["promptVersion"] ?? undefined,
          langfuse_level: level === "DEFAULT" ? undefined : level,
          langfuse_status_message: level === "ERROR" ? undefined : statusMessage,
          langfuse_parent_id: toText(observation["parentObservationId"]),
        }),
        langfuse_id: observation["id"],
        langfuse_type: type,
      },
    }),
  });
}

const toPosition = ({ id, traceId, parentId, dottedOrder, projectName }: RunPosition) => ({
  id,
  trace_id: traceId,
  parent_run_id: parentId,
  dotted_order: dottedOrder,
  session_name: projectName,
});

function toSharedMetadata(row: KeyValues, { traceId, sessionId, userId }: TraceContext): KeyValues {
  return omitUndefined({
    session_id: sessionId,
    user_id: userId,
    langfuse_trace_id: traceId,
    langfuse_environment: toText(row["environment"]),
    langfuse_version: toText(row["version"]),
  });
}

/** Finds the ids of the media files to which the texts of a row refer. */
export function findMediaIds(row: KeyValues): readonly string[] {
  const { input, output, expectedOutput, metadata } = row;
  const values = [input, output, expectedOutput, metadata].filter(
    (value) => typeof value === "string" || isObject(value) || Array.isArray(value),
  );
  const text = values.length === 0 ? "" : JSON.stringify(values);
  const matches = text.matchAll(/@@@langfuseMedia:[^@]{0,500}?\bid=([\w-]{1,100})[^@]{0,500}@@@/g);
  return [...new Set([...matches].map(([, id = ""]) => id))];
}

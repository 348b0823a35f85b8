import { randomUUID } from "node:crypto";
import { toIso } from "millrace/model";
import { playgroundProject } from "../model/own-projects.ts";
import type { JsonObject } from "./json-value.ts";
import type { ModelAnswer } from "./model-answer.ts";
import type { ModelRequest } from "./model-request.ts";
import { createModelRun } from "./model-run.ts";
import { createPromptMetadata } from "./prompt-metadata.ts";

const runName = "Playground";

/** A model call from the playground, which is recorded as a run. */
export interface PlaygroundCall {
  readonly request: ModelRequest;
  readonly answer: ModelAnswer;
  readonly endpointName: string;
  readonly provider: string | undefined;
  readonly startMs: number;
  readonly source?: {
    /** The prompt that was opened, as `owner/repo:commit`. */
    readonly prompt?: string;
    /** The run that was opened. */
    readonly run?: string;
    readonly variables?: Readonly<Record<string, unknown>>;
  };
}

/**
 * Creates the runs of a playground call, parents first, as bodies of `POST /runs`. If the messages were filled
 * in with variables, the call gets a parent run that has the variables as its inputs, as in LangSmith. The trace then
 * shows the prompt with the values of its variables. `runId` is the run of the call.
 */
export function createPlaygroundRuns(call: PlaygroundCall): {
  readonly runId: string;
  readonly traceId: string;
  readonly runs: readonly JsonObject[];
} {
  const { answer, startMs, source = {} } = call;
  const { variables = {} } = source;
  const runId = randomUUID();
  const metadata = {
    ...(source.prompt === undefined ? {} : createPromptMetadata(source.prompt)),
    ...(source.run === undefined ? {} : { source_run: source.run }),
  };
  const modelCall = { ...call, id: runId, projectName: playgroundProject, metadata };
  if (Object.keys(variables).length === 0) {
    return { runId, traceId: runId, runs: [createModelRun({ ...modelCall, name: runName })] };
  }
  const rootId = randomUUID();
  const rootOrder = toSegment(startMs, rootId);
  const root = {
    id: rootId,
    trace_id: rootId,
    dotted_order: rootOrder,
    name: runName,
    run_type: "chain",
    session_name: playgroundProject,
    start_time: toIso(startMs * 1_000),
    end_time: toIso(Math.round((startMs + answer.durationMs) * 1_000)),
    inputs: variables,
    outputs: { output: answer.text },
    ...(answer.failure === undefined ? {} : { error: answer.failure.message }),
    extra: { metadata },
  };
  const members = {
    trace_id: rootId,
    parent_run_id: rootId,
    dotted_order: `${rootOrder}.${toSegment(startMs, runId)}`,
  };
  const { model: name } = call.request;
  return {
    runId,
    traceId: rootId,
    runs: [root, createModelRun({ ...modelCall, name, members })],
  };
}

/** Creates a segment of a dotted order. */
const toSegment = (ms: number, id: string): string =>
  `${new Date(ms).toISOString().replaceAll(/[-:.Z]/g, "")}000Z${id}`;

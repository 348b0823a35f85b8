import { setTimeout as delay } from "node:timers/promises";
import { createFeedbackId, createNamedId } from "millrace/scorers";
import { toIso } from "millrace/model";
import { messageOf, RequestError } from "../../model/errors.ts";
import type { ModelRequest } from "../../models/model-request.ts";
import { findProvider } from "../../models/model-caller.ts";
import type { PricedAnswer } from "../../models/model-caller.ts";
import { createModelRun } from "../../models/model-run.ts";
import { createJudgeRequest, parseJudgement } from "./judge.ts";
import { launchLimits } from "./launch-schemas.ts";
import type { Judge, LaunchParameters, ModelChoice } from "./launch-schemas.ts";
import type { LaunchDependencies } from "./launch-store.ts";
import { readScorerKey } from "./launch-tasks.ts";
import type { ExampleJson, RenderTask, ScoreOutcome, ScoreTask } from "./launch-tasks.ts";

/** The project in which the calls of judges are recorded, as the SDK records those of evaluators. */
const evaluatorProject = "evaluators";
const runName = "target";

/** A row of an experiment: one repetition of an example. */
export interface Row {
  readonly tenantId: string;
  readonly exampleId: string;
  readonly example: ExampleJson;
  readonly repetition: number;
  readonly runId: string;
  readonly experimentName: string;
  readonly manifest: string;
  readonly parameters: LaunchParameters;
  readonly signal: AbortSignal;
}

/** A run or feedback, as a part of the body of `POST /runs/multipart`. */
export interface RowPart {
  readonly name: string;
  readonly body: object;
}

export interface RowResult {
  /** The runs and the feedback of the row, which are stored together: a row is done if its run is stored. */
  readonly parts: readonly RowPart[];
  readonly calls: readonly PricedAnswer[];
  /** Why the model did not answer. */
  readonly error?: string;
}

/**
 * Calls the model for a row, scores its answer, and lets the judges judge it. What a model or a judge does wrong is part
 * of the result.
 *
 * @throws RequestError a limit of calls or costs is reached, or an endpoint does not exist any more. The signal's reason:
 * the job was canceled.
 */
export async function runRow(row: Row, dependencies: LaunchDependencies): Promise<RowResult> {
  const { tenantId, parameters, example, manifest } = row;
  const { target, mapping } = parameters;
  const startMs = Date.now();
  const rendered = await dependencies.workThreads
    .run<RenderTask>(tenantId, { kind: "renderPrompt", manifest, example, mapping })
    .catch(describeTaskFailure);
  if ("error" in rendered) {
    return {
      parts: createRootParts(row, { startMs, error: rendered.error }),
      calls: [],
      error: rendered.error,
    };
  }
  const request: ModelRequest = {
    ...createSettings(target),
    messages: [...rendered.messages],
    ...(rendered.schema === undefined ? {} : { outputSchema: rendered.schema }),
  };
  const callStartMs = Date.now();
  const answer = await callModel(row, dependencies, { choice: target, request });
  const callParts = createCallParts(row, dependencies, {
    request,
    answer,
    startMs: callStartMs,
    rootMs: startMs,
  });
  const error = answer.failure?.message;
  if (error !== undefined) {
    return {
      parts: [...createRootParts(row, { startMs, error }), ...callParts],
      calls: [answer],
      error,
    };
  }
  const outputs = createOutputs(answer);
  const rootParts = createRootParts(row, { startMs, outputs });
  const judged = await scoreAnswer(row, dependencies, outputs);
  return {
    parts: [...rootParts, ...callParts, ...judged.parts],
    calls: [answer, ...judged.calls],
  };
}

const createSettings = ({ model, temperature, max_tokens: maxTokens }: ModelChoice) => ({
  model,
  settings: {
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxTokens === undefined ? {} : { maxTokens }),
  },
});

const createOutputs = ({ text, toolCalls }: PricedAnswer) => ({
  output: text,
  ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
});

/** A full queue of tasks, or a server that ends, is no property of the row: the step is tried again. */
function describeTaskFailure(cause: unknown): { readonly error: string } {
  if (cause instanceof RequestError && cause.status < 500 && cause.status !== 429) {
    return { error: cause.message };
  }
  throw cause;
}

interface Call {
  readonly choice: ModelChoice;
  readonly request: ModelRequest;
}

/** Calls a model. A call that the endpoint had no capacity for is repeated after the time that it asks for. */
async function callModel(
  { tenantId, signal }: Row,
  { models }: LaunchDependencies,
  { choice, request }: Call,
): Promise<PricedAnswer> {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await models.call({
      tenantId,
      endpointName: choice.endpoint,
      request,
      signal,
    });
    signal.throwIfAborted();
    const { failure } = answer;
    if (failure?.kind !== "rateLimited" || attempt === launchLimits.callAttempts) {
      return answer;
    }
    const requestedMs = (failure.retryAfterSeconds ?? 0) * 1_000;
    const ownMs = launchLimits.retryMs * 2 ** (attempt - 1);
    await delay(Math.min(launchLimits.retryMaxMs, Math.max(requestedMs, ownMs)), undefined, {
      signal,
    });
  }
}

interface Root {
  readonly startMs: number;
  readonly outputs?: object;
  readonly error?: string;
}

/** The run of a row, as the SDK records that of a target. */
function createRootParts(row: Row, { startMs, outputs, error }: Root): readonly RowPart[] {
  const { runId, exampleId, repetition, example, experimentName, parameters } = row;
  const { target } = parameters;
  return [
    {
      name: `post.${runId}`,
      body: {
        id: runId,
        trace_id: runId,
        dotted_order: toSegment(startMs, runId),
        name: runName,
        run_type: "chain",
        session_name: experimentName,
        reference_example_id: exampleId,
        start_time: toTime(startMs),
        end_time: toTime(Date.now()),
        inputs: JSON.parse(example.inputs) as unknown,
        ...(outputs === undefined ? {} : { outputs }),
        ...(error === undefined ? {} : { error }),
        extra: {
          metadata: {
            example_id: exampleId,
            repetition,
            prompt: parameters.prompt_commit,
            model: target.model,
          },
        },
      },
    },
  ];
}

function createCallParts(
  row: Row,
  { models }: LaunchDependencies,
  {
    request,
    answer,
    startMs,
    rootMs,
  }: {
    readonly request: ModelRequest;
    readonly answer: PricedAnswer;
    readonly startMs: number;
    readonly rootMs: number;
  },
): readonly RowPart[] {
  const { runId, experimentName, parameters } = row;
  const { endpoint, model } = parameters.target;
  const id = createNamedId(runId, "call");
  const body = createModelRun({
    id,
    projectName: experimentName,
    name: model,
    startMs,
    request,
    answer,
    endpointName: endpoint,
    provider: findProvider(models.findEndpoint(endpoint)),
    metadata: { prompt: parameters.prompt_commit },
    members: {
      trace_id: runId,
      parent_run_id: runId,
      dotted_order: `${toSegment(rootMs, runId)}.${toSegment(startMs, id)}`,
    },
  });
  return [{ name: `post.${id}`, body }];
}

interface Judged {
  readonly parts: readonly RowPart[];
  readonly calls: readonly PricedAnswer[];
}

/** Calls the scorers and the judges of an answer. A failure of one is feedback with an error, never a score. */
async function scoreAnswer(
  row: Row,
  dependencies: LaunchDependencies,
  outputs: object,
): Promise<Judged> {
  const { tenantId, parameters, example } = row;
  const { scorers, judges } = parameters;
  const scored = await dependencies.workThreads
    .run<ScoreTask>(tenantId, {
      kind: "scoreOutput",
      example,
      output: JSON.stringify(outputs),
      scorers,
      templates: judges.map(({ template }) => template),
    })
    .catch(describeTaskFailure);
  if ("error" in scored) {
    const { error } = scored;
    const keys = [...scorers.map(readScorerKey), ...judges.map(({ key }) => key)];
    return {
      parts: keys.map((key, index) => createFeedback(row, index, { key, error })),
      calls: [],
    };
  }
  const judgements = await Promise.all(
    judges.map((judge, index) =>
      callJudge(row, dependencies, {
        judge,
        index,
        prompt: scored.prompts[index] ?? { error: "there is no prompt" },
      }),
    ),
  );
  return {
    parts: [
      ...scored.scores.map((outcome, index) => createFeedback(row, index, outcome)),
      ...judgements.flatMap(({ parts }) => parts),
    ],
    calls: judgements.flatMap(({ calls }) => calls),
  };
}

interface JudgeCall {
  readonly judge: Judge;
  readonly index: number;
  readonly prompt: { readonly text: string } | { readonly error: string };
}

async function callJudge(
  row: Row,
  dependencies: LaunchDependencies,
  { judge, index, prompt }: JudgeCall,
): Promise<Judged> {
  const feedbackIndex = row.parameters.scorers.length + index;
  const { key } = judge;
  if ("error" in prompt) {
    return { parts: [createFeedback(row, feedbackIndex, { key, error: prompt.error })], calls: [] };
  }
  const request = createJudgeRequest(judge, prompt.text);
  const startMs = Date.now();
  const answer = await callModel(row, dependencies, { choice: judge, request });
  const id = createNamedId(row.runId, `judge:${index}`);
  let outcome: FeedbackOutcome;
  try {
    if (answer.failure !== undefined) {
      throw new TypeError(`the judge did not answer: ${answer.failure.message}`);
    }
    outcome = { key, ...parseJudgement(answer.text, judge.form) };
  } catch (cause) {
    outcome = { key, error: messageOf(cause) };
  }
  const run = createModelRun({
    id,
    projectName: evaluatorProject,
    name: key,
    startMs,
    request,
    answer,
    endpointName: judge.endpoint,
    provider: findProvider(dependencies.models.findEndpoint(judge.endpoint)),
    metadata: {
      experiment: row.experimentName,
      run_id: row.runId,
      example_id: row.exampleId,
    },
    members: { trace_id: id, dotted_order: toSegment(startMs, id) },
  });
  return {
    parts: [{ name: `post.${id}`, body: run }, createFeedback(row, feedbackIndex, outcome, id)],
    calls: [answer],
  };
}

type FeedbackOutcome =
  | ScoreOutcome
  | { readonly key: string; readonly value: string; readonly comment?: string };

/** The feedback of a score, as the SDK sends it. */
// oxlint-disable-next-line max-params -- the source is an exception
function createFeedback(
  { runId }: Row,
  index: number,
  outcome: FeedbackOutcome,
  sourceRunId?: string,
): RowPart {
  const isError = "error" in outcome;
  const { key } = outcome;
  return {
    name: `feedback.${runId}`,
    body: {
      id: createFeedbackId(runId, key, index),
      run_id: runId,
      trace_id: runId,
      ...(isError ? { key, comment: outcome.error, error: true } : outcome),
      feedback_source: {
        type: "model",
        metadata: {
          ...(sourceRunId === undefined ? {} : { __run: { run_id: sourceRunId } }),
          ...(isError ? { error: true } : {}),
        },
      },
    },
  };
}

const toTime = (ms: number): string => toIso(ms * 1_000);

/** A segment of a dotted order. */
const toSegment = (ms: number, id: string): string =>
  `${new Date(ms).toISOString().replaceAll(/[-:.Z]/g, "")}000Z${id}`;

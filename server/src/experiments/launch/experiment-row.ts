import { createFeedbackId, createNamedId } from "millrace/scorers";
import { callJudge } from "../../judges/call-judge.ts";
import type { JudgePrompt } from "../../judges/judge-prompt.ts";
import type { Judge, ModelChoice } from "../../judges/judge-schema.ts";
import { createFeedbackPart, toOrderSegment, toWireTime } from "../../judges/result-parts.ts";
import type { FeedbackOutcome, ResultPart } from "../../judges/result-parts.ts";
import { RequestError } from "../../model/errors.ts";
import type { ModelRequest } from "../../models/model-request.ts";
import { findProvider } from "../../models/model-caller.ts";
import type { PricedAnswer } from "../../models/model-caller.ts";
import { createModelRun } from "../../models/model-run.ts";
import { createPromptMetadata } from "../../models/prompt-metadata.ts";
import { repeatCall } from "../../models/repeat-call.ts";
import type { LaunchParameters } from "./launch-schemas.ts";
import type { LaunchDependencies } from "./launch-store.ts";
import { readScorerKey } from "./launch-tasks.ts";
import type { ExampleJson, RenderTask, ScoreTask } from "./launch-tasks.ts";

const runName = "target";

/** A row of an experiment: one repetition of an example. */
export interface Row {
  readonly tenantId: string;
  readonly exampleId: string;
  readonly example: ExampleJson;
  /** Number of the repetition, beginning with 1. */
  readonly repetition: number;
  readonly runId: string;
  readonly experimentName: string;
  /** JSON of the prompt's manifest. */
  readonly manifest: string;
  readonly parameters: LaunchParameters;
  readonly signal: AbortSignal;
}

/** What running one row of an experiment has produced. */
export interface RowResult {
  /** The runs and the feedback of the row, which are stored together: a row is done if its run is stored. */
  readonly parts: readonly ResultPart[];
  readonly calls: readonly PricedAnswer[];
  /** Why there is no answer: the prompt could not be filled in, or the model did not answer. */
  readonly error?: string;
}

/**
 * Calls the model for a row, and scores its answer with the scorers and the judges. Failures of a model or a judge are
 * part of the result and are not thrown.
 *
 * @throws RequestError a limit of calls or costs is reached, or an endpoint no longer exists. If the job was
 * canceled, throws the reason of the row's signal.
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
  const { tools, settings } = rendered.saved;
  const request: ModelRequest = {
    ...createSettings(target, settings),
    messages: [...rendered.messages],
    ...(tools === undefined ? {} : { tools: [...tools] }),
    ...(rendered.schema === undefined ? {} : { outputSchema: rendered.schema }),
  };
  const callStartMs = Date.now();
  const answer = await repeatCall(dependencies.models, {
    tenantId,
    endpointName: target.endpoint,
    request,
    signal: row.signal,
  });
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
  const scored = await scoreAnswer(row, dependencies, outputs);
  return {
    parts: [...rootParts, ...callParts, ...scored.parts],
    calls: [answer, ...scored.calls],
  };
}

/** The settings that the experiment chooses take precedence over those that were saved with the prompt. */
const createSettings = (
  { model, temperature, max_tokens: maxTokens }: ModelChoice,
  saved: NonNullable<ModelRequest["settings"]>,
) => ({
  model,
  settings: {
    ...saved,
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxTokens === undefined ? {} : { maxTokens }),
  },
});

const createOutputs = ({ text, toolCalls }: PricedAnswer) => ({
  output: text,
  ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
});

/**
 * Returns an error that the row itself caused. Other errors, such as a full task queue or a server that is closing, are
 * thrown: the step is then tried again.
 */
function describeTaskFailure(cause: unknown): { readonly error: string } {
  if (cause instanceof RequestError && cause.status < 500 && cause.status !== 429) {
    return { error: cause.message };
  }
  throw cause;
}

/** The start and the result of a row, which its root run records. */
interface Root {
  readonly startMs: number;
  readonly outputs?: object;
  readonly error?: string;
}

/** Creates the root run of a row, in the form in which the SDK records the run of a target. */
function createRootParts(row: Row, { startMs, outputs, error }: Root): readonly ResultPart[] {
  const { runId, exampleId, repetition, example, experimentName, parameters } = row;
  const { target } = parameters;
  return [
    {
      name: `post.${runId}`,
      body: {
        id: runId,
        trace_id: runId,
        dotted_order: toOrderSegment(startMs, runId),
        name: runName,
        run_type: "chain",
        session_name: experimentName,
        reference_example_id: exampleId,
        start_time: toWireTime(startMs),
        end_time: toWireTime(Date.now()),
        inputs: JSON.parse(example.inputs) as unknown,
        ...(outputs === undefined ? {} : { outputs }),
        ...(error === undefined ? {} : { error }),
        extra: {
          metadata: {
            example_id: exampleId,
            repetition,
            ...createPromptMetadata(parameters.prompt_commit),
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
): readonly ResultPart[] {
  const { runId, experimentName, parameters } = row;
  const { prompt_commit: prompt, mapping } = parameters;
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
    metadata: {
      ...createPromptMetadata(prompt),
      ...(Object.keys(mapping).length === 0 ? {} : { prompt_mapping: mapping }),
    },
    members: {
      trace_id: runId,
      parent_run_id: runId,
      dotted_order: `${toOrderSegment(rootMs, runId)}.${toOrderSegment(startMs, id)}`,
    },
  });
  return [{ name: `post.${id}`, body }];
}

interface ScoredAnswer {
  readonly parts: readonly ResultPart[];
  readonly calls: readonly PricedAnswer[];
}

/**
 * Lets the scorers and the judges score an answer. If one fails, its feedback contains the error instead of a score.
 */
async function scoreAnswer(
  row: Row,
  dependencies: LaunchDependencies,
  outputs: object,
): Promise<ScoredAnswer> {
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
    judges.map((judge, judgeIndex) =>
      judgeAnswer(row, dependencies, {
        judge,
        judgeIndex,
        prompt: scored.prompts[judgeIndex] ?? { error: "there is no prompt" },
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
  /** Position of the judge among the experiment's judges. */
  readonly judgeIndex: number;
  readonly prompt: JudgePrompt;
}

async function judgeAnswer(
  row: Row,
  dependencies: LaunchDependencies,
  { judge, judgeIndex, prompt }: JudgeCall,
): Promise<ScoredAnswer> {
  const feedbackIndex = row.parameters.scorers.length + judgeIndex;
  const { key } = judge;
  if ("error" in prompt) {
    return { parts: [createFeedback(row, feedbackIndex, { key, error: prompt.error })], calls: [] };
  }
  const id = createNamedId(row.runId, `judge:${judgeIndex}`);
  const { run, outcome, answer } = await callJudge(dependencies.models, {
    tenantId: row.tenantId,
    judge,
    prompt: prompt.text,
    id,
    metadata: {
      experiment: row.experimentName,
      run_id: row.runId,
      example_id: row.exampleId,
    },
    signal: row.signal,
  });
  return { parts: [run, createFeedback(row, feedbackIndex, outcome, id)], calls: [answer] };
}

/** Creates the feedback for one score, or for the error instead of it. */
// oxlint-disable-next-line max-params -- only judges have a source run
const createFeedback = (
  { runId }: Row,
  index: number,
  outcome: FeedbackOutcome,
  sourceRunId?: string,
): ResultPart =>
  createFeedbackPart({
    id: createFeedbackId(runId, outcome.key, index),
    runId,
    traceId: runId,
    outcome,
    sourceRunId,
  });

import { messageOf } from "../model/errors.ts";
import { evaluatorProject } from "../model/own-projects.ts";
import { findProvider } from "../models/model-caller.ts";
import type { ModelCaller, PricedAnswer } from "../models/model-caller.ts";
import { createModelRun } from "../models/model-run.ts";
import { repeatCall } from "../models/repeat-call.ts";
import { createJudgeRequest, parseJudgement } from "./judge.ts";
import type { Judge } from "./judge-schema.ts";
import { toOrderSegment } from "./result-parts.ts";
import type { FeedbackOutcome, ResultPart } from "./result-parts.ts";

/**
 * The metadata key that marks the recorded calls of judges. Rules do not judge runs with this key: judging would
 * otherwise never end.
 */
export const judgeMetadataKey = "judge_key";

/** The part of a `ModelCaller` that judges use. */
export type JudgeModels = Pick<ModelCaller, "call" | "findEndpoint">;

export interface JudgeCall {
  readonly tenantId: string;
  readonly judge: Judge;
  /** The template, filled in. */
  readonly prompt: string;
  /** The id of the run that records the call. */
  readonly id: string;
  /** The id of that run if the judge gives no valid answer. @defaultValue `id` */
  readonly failedId?: string;
  /** Further metadata of the run that records the call. */
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal;
}

/** The feedback that a judge has given, its answer, and the run that records the call. */
export interface JudgeResult {
  readonly outcome: FeedbackOutcome;
  readonly answer: PricedAnswer;
  /** The run that records the call. */
  readonly run: ResultPart;
}

/**
 * Lets a model judge. If the model does not answer, or its answer does not have the requested form, the outcome is an
 * error.
 *
 * @throws RequestError a limit of calls or costs is reached, or the endpoint does not exist. If the call was canceled,
 * throws the signal's reason.
 */
export async function callJudge(models: JudgeModels, call: JudgeCall): Promise<JudgeResult> {
  const { tenantId, judge, prompt, metadata, signal } = call;
  const { key, endpoint } = judge;
  const request = createJudgeRequest(judge, prompt);
  const startMs = Date.now();
  const answer = await repeatCall(models, { tenantId, endpointName: endpoint, request, signal });
  const outcome: FeedbackOutcome = { key, ...readOutcome(answer, judge) };
  const id = "error" in outcome ? (call.failedId ?? call.id) : call.id;
  const run = createModelRun({
    id,
    projectName: evaluatorProject,
    name: key,
    startMs,
    request,
    answer,
    endpointName: endpoint,
    provider: findProvider(models.findEndpoint(endpoint)),
    metadata: { [judgeMetadataKey]: key, ...metadata },
    members: { trace_id: id, dotted_order: toOrderSegment(startMs, id) },
  });
  return {
    outcome,
    answer,
    run: { name: `post.${id}`, body: run },
  };
}

function readOutcome(answer: PricedAnswer, { form }: Judge) {
  if (answer.failure !== undefined) {
    return { error: `the judge did not answer: ${answer.failure.message}` };
  }
  try {
    return parseJudgement(answer.text, form);
  } catch (cause) {
    return { error: messageOf(cause) };
  }
}

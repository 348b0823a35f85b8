import type { Evaluator, EvaluatorArguments, Score } from "millrace/evaluation";
import type { Any } from "../any.ts";
import type { Client } from "../client/client.ts";
import { toExample, toRun } from "../client/to-langsmith.ts";
import type { Example, KVMap, Run, ScoreType, ValueType } from "../schemas.ts";
import type { RunTreeConfig } from "../tracing/run-tree.ts";
import type {
  EvaluationResult,
  EvaluationResults,
  EvaluatorReturn,
} from "../client/evaluation-result.ts";
import { toResultList } from "../client/evaluation-result.ts";

/** An evaluator as an object. */
export interface RunEvaluator {
  evaluateRun(
    run: Run,
    example?: Example,
    options?: Partial<RunTreeConfig>,
  ): Promise<EvaluationResult | EvaluationResults>;
}

/** The named arguments of an evaluator. */
export interface EvaluatorInput {
  run: Run;
  example: Example;
  inputs: Record<string, Any>;
  outputs: Record<string, Any>;
  referenceOutputs?: Record<string, Any>;
  attachments?: Record<string, Any>;
}

/** An evaluator: an object, or a function of the run and the example, or of named arguments. */
export type EvaluatorT =
  | RunEvaluator
  | ((run: Run, example?: Example) => EvaluatorReturn)
  | ((run: Run, example?: Example) => Promise<EvaluatorReturn>)
  | ((args: EvaluatorInput) => EvaluatorReturn)
  | ((args: EvaluatorInput) => Promise<EvaluatorReturn>);

/** A function that accepts the arguments of both kinds of evaluator functions. */
type AnyEvaluator = (
  input: EvaluatorInput & Run,
  example: Example,
) => EvaluatorReturn | Promise<EvaluatorReturn>;

/** A row of an evaluation with the types of langsmith. */
export interface ConvertedRow {
  readonly run: Run;
  readonly example: Example;
  readonly attachments: KVMap | undefined;
}

/** What the converted evaluators use to get their arguments and to send feedback. */
export interface EvaluatorContext {
  readonly client: Client;
  /** Converts the arguments with which Millrace calls an evaluator. */
  readonly toRow: (args: EvaluatorArguments) => ConvertedRow;
}

/**
 * Converts the evaluators. If several have the same name, a number is added, so that their scores can be distinguished.
 */
export function toMillraceEvaluators(
  evaluators: readonly EvaluatorT[],
  context: EvaluatorContext,
): Evaluator[] {
  const counts = new Map<string, number>();
  return evaluators.map((evaluator) => {
    const stem = getName(evaluator);
    const count = (counts.get(stem) ?? 0) + 1;
    counts.set(stem, count);
    return {
      name: count === 1 ? stem : `${stem} ${count}`,
      evaluate: async (args) => callEvaluator(evaluator, context.toRow(args), context.client),
    };
  });
}

function getName(evaluator: EvaluatorT): string {
  const name =
    typeof evaluator === "function"
      ? evaluator.name
      : (evaluator.constructor as { name: string }).name;
  return name === "" || name === "Object" ? "evaluator" : name;
}

async function callEvaluator(
  evaluator: EvaluatorT,
  { run, example, attachments }: ConvertedRow,
  client: Client,
): Promise<Score[]> {
  const returned =
    typeof evaluator === "function"
      ? // As in langsmith, one object holds the run's members and the named arguments.
        await (evaluator as AnyEvaluator)(
          {
            ...run,
            run,
            example,
            inputs: example.inputs,
            outputs: run.outputs ?? {},
            ...(example.outputs === undefined ? {} : { referenceOutputs: example.outputs }),
            ...(attachments === undefined ? {} : { attachments }),
          },
          example,
        )
      : await evaluator.evaluateRun(run, example);
  const results = toResultList(returned);
  // Millrace's evaluators can't return feedback on another run, or a configuration of the key. Such results are sent
  // separately.
  const separateResults = results.filter(
    ({ targetRunId, feedbackConfig }) => targetRunId ?? feedbackConfig,
  );
  await client.logEvaluationFeedback({ results: separateResults }, run);
  return results.filter((result) => !separateResults.includes(result)).map(toScore);
}

const toScore = (result: EvaluationResult): Score => ({
  key: result.key,
  score: result.score,
  value: result.value,
  comment: result.comment,
  correction: result.correction,
  metadata: result.evaluatorInfo,
});

/** Converts a summary evaluator's result to Millrace's scores. */
export const toScores = (returned: EvaluatorReturn): Score[] => toResultList(returned).map(toScore);

/** Converts a score of Millrace's result. The error of a failed evaluator becomes its comment. */
export function toEvaluationResult(score: {
  readonly key: string;
  readonly score?: number | boolean | undefined;
  readonly value?: unknown;
  readonly comment?: string | undefined;
  readonly sourceRunId?: string | undefined;
  readonly error?: string | undefined;
}): EvaluationResult {
  return {
    key: score.key,
    ...(score.score === undefined ? {} : { score: score.score }),
    ...(score.value === undefined ? {} : { value: score.value }),
    ...(score.comment === undefined ? {} : { comment: score.comment }),
    ...(score.sourceRunId === undefined ? {} : { sourceRunId: score.sourceRunId }),
    ...(score.error === undefined ? {} : { comment: `The evaluator failed: ${score.error}` }),
  };
}

/** Converts the arguments with which Millrace calls an evaluator to a row with the types of langsmith. */
export function convertRow(
  { run, example }: EvaluatorArguments,
  attachments?: KVMap,
): ConvertedRow {
  const { attachments: _, ...fields } = example;
  return {
    run: toRun(run),
    example: toExample({ ...fields, datasetId: example.datasetId ?? "", outputs: example.outputs }),
    attachments,
  };
}

/** The argument of a grading function. As in langsmith, the values need not be strings, despite the types. */
export interface GradingFunctionParams {
  input: string;
  prediction: string;
  answer?: string;
}

/** What a grading function returns, which becomes feedback on the run. */
export interface GradingFunctionResult {
  key?: string;
  score?: ScoreType;
  value?: ValueType;
  comment?: string;
  correction?: Record<string, unknown>;
}

/** Options of {@link StringEvaluator}. */
export interface StringEvaluatorParams {
  evaluationName?: string;
  inputKey?: string;
  predictionKey?: string;
  answerKey?: string;
  gradingFunction: (params: GradingFunctionParams) => Promise<GradingFunctionResult>;
}

/** Passes one value each of the inputs, the run's outputs and the example's outputs to a grading function. */
export class StringEvaluator implements RunEvaluator {
  protected evaluationName?: string;
  protected inputKey: string;
  protected predictionKey: string;
  protected answerKey?: string;
  protected gradingFunction: StringEvaluatorParams["gradingFunction"];

  constructor(params: StringEvaluatorParams) {
    const { evaluationName, inputKey = "input", predictionKey = "output" } = params;
    if (evaluationName !== undefined) {
      this.evaluationName = evaluationName;
    }
    this.inputKey = inputKey;
    this.predictionKey = predictionKey;
    this.answerKey = params.answerKey ?? "output";
    this.gradingFunction = params.gradingFunction;
  }

  async evaluateRun(run: Run, example?: Example): Promise<EvaluationResult> {
    if (run.outputs === undefined) {
      throw new Error("The run has no outputs to evaluate.");
    }
    // An empty key means that there is no answer.
    const answer: unknown = this.answerKey ? example?.outputs?.[this.answerKey] : null;
    const params: Record<keyof GradingFunctionParams, unknown> = {
      input: run.inputs[this.inputKey],
      prediction: run.outputs[this.predictionKey],
      answer,
    };
    const { key: returnedKey, ...result } = await this.gradingFunction(
      params as unknown as GradingFunctionParams,
    );
    const key = returnedKey || this.evaluationName;
    if (!key) {
      throw new Error(
        "A StringEvaluator needs evaluationName, or a grading function that returns a key.",
      );
    }
    return { key, ...result };
  }
}

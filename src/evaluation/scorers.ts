import { ValidationError } from "../main/index.ts";
import { checkKeys } from "../model/index.ts";
import { createScorer, toText } from "../scorers/scorers.ts";
import type { ScorerOptions } from "../scorers/scorers.ts";
import type { EvaluatorArguments, EvaluatorResult } from "./evaluator.ts";

/** An evaluator that works with any target. */
export interface Scorer {
  readonly name: string;
  readonly evaluate: (
    args: EvaluatorArguments<unknown, unknown, unknown>,
  ) => EvaluatorResult | Promise<EvaluatorResult>;
}

/** Options of {@link embeddingSimilarity}. */
export interface EmbeddingOptions extends ScorerOptions {
  /** Returns an embedding for each text, in the order of the texts. */
  readonly embed: (
    texts: readonly string[],
  ) => Promise<readonly (readonly number[])[]> | readonly (readonly number[])[];
}

/** Argument of the function `judge` of {@link llmJudge}. */
export interface JudgeRequest {
  readonly inputs: unknown;
  readonly outputs: unknown;
  readonly referenceOutputs: unknown;
  /** The prompt for the model: the criteria, followed by inputs, outputs and reference outputs as JSON. */
  readonly prompt: string;
}

/** Options of {@link llmJudge}. */
export interface JudgeOptions {
  /** The feedback key. @defaultValue "llmJudge" */
  readonly key?: string | undefined;
  /** Describes a good answer, in one or several sentences. */
  readonly criteria: string;
  /** Calls a model, and returns its judgement: a number, a boolean, or a score with a comment. */
  readonly judge: (request: JudgeRequest) => Promise<EvaluatorResult> | EvaluatorResult;
}

/**
 * Judges how similar the meaning of a text is to the expected one. The score is the cosine similarity of their
 * embeddings, and at least 0.
 */
export function embeddingSimilarity(options: EmbeddingOptions): Scorer {
  if (typeof options.embed !== "function") {
    throw new ValidationError("embeddingSimilarity: pass a function as `embed`");
  }
  return createScorer(
    "embeddingSimilarity",
    options,
    { key: 1, path: 1, expected: 1, embed: 1 },
    async (output, expected) => {
      const [left, right] = await options.embed([toText(output), toText(expected)]);
      if (left === undefined || right?.length !== left.length) {
        throw new TypeError("`embed` did not return two embeddings of the same length");
      }
      const length = Math.sqrt(multiply(left, left) * multiply(right, right));
      return length === 0 ? 0 : Math.max(0, multiply(left, right) / length);
    },
  );
}

/** Creates a scorer that lets a model judge the output. The caller provides the function that calls the model. */
export function llmJudge({ key = "llmJudge", criteria, judge, ...unknown }: JudgeOptions): Scorer {
  checkKeys<object>(unknown, {}, { subject: "llmJudge", error: ValidationError });
  if (typeof judge !== "function" || typeof criteria !== "string") {
    throw new ValidationError("llmJudge: pass a string as `criteria` and a function as `judge`");
  }
  return {
    name: key,
    evaluate: ({ inputs, outputs, referenceOutputs }) =>
      judge({
        inputs,
        outputs,
        referenceOutputs,
        prompt: [
          criteria,
          `Inputs:\n${toText(inputs)}`,
          `Outputs to judge:\n${toText(outputs)}`,
          ...(referenceOutputs === undefined ? [] : [`Expected:\n${toText(referenceOutputs)}`]),
        ].join("\n\n"),
      }),
  };
}

/** Returns the scalar product of two vectors. */
const multiply = (left: readonly number[], right: readonly number[]): number =>
  left.reduce((sum, value, index) => sum + value * (right[index] ?? 0), 0);

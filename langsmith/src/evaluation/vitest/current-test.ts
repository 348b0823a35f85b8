import { AsyncLocalStorage } from "node:async_hooks";
import { score } from "millrace/vitest";
import type { Any } from "../../any.ts";
import type { KVMap } from "../../schemas.ts";
import type { EvaluationResult } from "../../client/evaluation-result.ts";

/** The example of the current test. */
export interface CurrentTest {
  readonly inputs: KVMap;
  readonly referenceOutputs: KVMap;
}

/** Gives evaluators access to the example of the current test. */
export const currentTest = new AsyncLocalStorage<CurrentTest>();

/** The result of an evaluator of a test. */
export interface SimpleEvaluationResult {
  key: string;
  score: NonNullable<EvaluationResult["score"]>;
  comment?: string;
}

/** The arguments of an evaluator of a test. */
export interface SimpleEvaluatorParams {
  inputs: Record<string, Any>;
  referenceOutputs: Record<string, Any>;
  outputs: Record<string, Any>;
}

/** An evaluator of a test. */
export type SimpleEvaluator = (
  params: SimpleEvaluatorParams,
) => SimpleEvaluationResult | Promise<SimpleEvaluationResult>;

/** @throws Error outside of a test. */
export function readCurrentTest(name: string): CurrentTest {
  const test = currentTest.getStore();
  if (test === undefined) {
    throw new Error(`${name} must be called within a test of langsmith/vitest.`);
  }
  return test;
}

/**
 * Returns an evaluator whose calls are recorded in the project `evaluators`. Results with a key and a score become
 * feedback on the current test.
 */
export function wrapEvaluator<I, O extends SimpleEvaluationResult | SimpleEvaluationResult[]>(
  evaluator: (input: I) => O | Promise<O>,
): (input: I, config?: object) => Promise<O> {
  return async (input) => {
    readCurrentTest("wrapEvaluator");
    let outcome: { readonly result: O } | { readonly error: unknown } | undefined;
    const evaluate = async () => {
      try {
        const result = await evaluator(input);
        outcome = { result };
        return [result]
          .flat()
          .filter(isScore)
          .map(({ key, score: value, comment }) => ({
            key,
            score: value,
            ...(comment === undefined ? {} : { comment }),
          }));
      } catch (error) {
        outcome = { error };
        throw error;
      }
    };
    await score({ name: evaluator.name || "evaluator", evaluate }, toOutputs(input));
    if (outcome === undefined) {
      throw new Error(`The evaluator ${evaluator.name} was not called.`);
    }
    if ("error" in outcome) {
      throw outcome.error;
    }
    return outcome.result;
  };
}

const isScore = (result: unknown): result is SimpleEvaluationResult =>
  typeof result === "object" &&
  result !== null &&
  "score" in result &&
  "key" in result &&
  typeof result.key === "string";

/** Returns the outputs to score: the member `outputs` of an evaluator's input, or else the whole input. */
const toOutputs = (input: unknown): unknown =>
  typeof input === "object" && input !== null && "outputs" in input ? input.outputs : input;

import { unknownKeysOf, unknownKeyText } from "../../model/index.ts";
import { describeError } from "./deadline.ts";
import type { EvaluatorResult, RowScore, Score } from "../evaluator.ts";
import { toJsonValue } from "./json-value.ts";

/** The members that a score may have, including those that only evaluators written for LangSmith return. */
const scoreKeys = [
  "key",
  "name",
  "score",
  "value",
  "comment",
  "metadata",
  "correction",
  "error",
  "evaluatorInfo",
  "sourceRunId",
  "targetRunId",
  "feedbackConfig",
];

/**
 * The words with which the message about an invalid score begins and gives advice. They depend on whether the value was
 * returned or passed.
 */
interface ScoreWords {
  readonly is: string;
  readonly has: string;
  readonly advice: string;
}

const wordsForReturnedValue: ScoreWords = {
  is: "it returned",
  has: "it returned",
  advice: "return",
};

/** The words for a value that was passed to a function. */
export const wordsForPassedValue: ScoreWords = { is: "it is", has: "it has", advice: "pass" };

/**
 * Converts the result of an evaluator to scores.
 *
 * @throws Error if it is not an {@link EvaluatorResult}; the message says what is wrong.
 */
export function toRowScores(
  result: EvaluatorResult,
  evaluatorName: string,
  words = wordsForReturnedValue,
): readonly RowScore[] {
  if (result === undefined || result === null) {
    return [];
  }
  if (typeof result === "string") {
    return [{ key: evaluatorName, value: result }];
  }
  if (typeof result === "number" || typeof result === "boolean") {
    return [{ key: evaluatorName, score: checkScore(result, words) }];
  }
  if (typeof result !== "object") {
    throw new TypeError(
      `${words.is} a ${typeof result}; ${words.advice} a number, a boolean, a string, or an object such as { key, score, comment }`,
    );
  }
  if (Array.isArray(result)) {
    return result.map((score: unknown) => toRowScore(score, evaluatorName, words));
  }
  if ("results" in result) {
    const { results }: { results: unknown } = result;
    if (!Array.isArray(results)) {
      throw new TypeError(`${words.is} an object whose \`results\` is not an array`);
    }
    return results.map((score: unknown) => toRowScore(score, evaluatorName, words));
  }
  return [toRowScore(result, evaluatorName, words)];
}

function toRowScore(candidate: unknown, evaluatorName: string, words: ScoreWords): RowScore {
  if (typeof candidate !== "object" || candidate === null) {
    throw new TypeError(`${words.is} an array in which an item is not an object`);
  }
  const [unknownKey] = unknownKeysOf(candidate, scoreKeys);
  if (unknownKey !== undefined) {
    throw new TypeError(`${words.is} an object with an ${unknownKeyText("member", unknownKey)}`);
  }
  // The members are checked below.
  const result = candidate as Score;
  const key = result.key ?? result.name ?? evaluatorName;
  if (typeof key !== "string" || key === "" || key.length > maxKeyLength) {
    throw new TypeError(
      `${words.has} a key that is not a string of 1 to ${maxKeyLength} characters`,
    );
  }
  const metadata = isPresent(result.metadata)
    ? (toJsonValue(result.metadata, "metadata").json as RowScore["metadata"])
    : undefined;
  if (isPresent(result.error)) {
    return { key, error: describeError(result.error), ...(metadata && { metadata }) };
  }
  const { comment, correction } = result;
  if (isPresent(comment) && typeof comment !== "string") {
    throw new TypeError(`${words.has} a comment that is not a string`);
  }
  return {
    key,
    ...(isPresent(result.score) && { score: checkScore(result.score, words) }),
    ...(isPresent(result.value) && { value: toJsonValue(result.value, "value").json }),
    ...(isPresent(comment) && { comment }),
    ...(metadata && { metadata }),
    ...(isPresent(correction) && {
      correction: toJsonValue(correction, "correction").json as string,
    }),
  };
}

/** Longest feedback key that servers accept. */
export const maxKeyLength = 180;

function checkScore(score: unknown, words: ScoreWords): number | boolean {
  if (typeof score === "boolean" || (typeof score === "number" && Number.isFinite(score))) {
    return score;
  }
  const shown = typeof score === "number" ? String(score) : `of type ${typeof score}`;
  throw new TypeError(
    `${words.has} a score that is ${shown}; a score is a finite number or a boolean`,
  );
}

const isPresent = <Value>(value: Value | null | undefined): value is Value =>
  value !== undefined && value !== null;

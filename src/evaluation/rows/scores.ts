import { unknownKeysOf, unknownKeyText } from "../../model/index.ts";
import { describeError } from "./deadline.ts";
import type { EvaluatorResult, RowScore, Score } from "../evaluator.ts";
import { toJsonValue } from "./json-value.ts";

/** The members of a score, and those that evaluators written for LangSmith may also return. */
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
 * Converts what an evaluator returned to scores.
 *
 * @throws Error if it is not an {@link EvaluatorResult}; the message says what is wrong.
 */
export function toRowScores(result: EvaluatorResult, evaluatorName: string): readonly RowScore[] {
  if (result === undefined || result === null) {
    return [];
  }
  if (typeof result === "string") {
    return [{ key: evaluatorName, value: result }];
  }
  if (typeof result === "number" || typeof result === "boolean") {
    return [{ key: evaluatorName, score: checkScore(result) }];
  }
  if (typeof result !== "object") {
    throw new TypeError(
      `it returned a ${typeof result}; return a number, a boolean, a text, or an object such as { key, score, comment }`,
    );
  }
  if (Array.isArray(result)) {
    return result.map((score: unknown) => toRowScore(score, evaluatorName));
  }
  if ("results" in result) {
    const { results }: { results: unknown } = result;
    if (!Array.isArray(results)) {
      throw new TypeError("it returned an object whose `results` is not an array");
    }
    return results.map((score: unknown) => toRowScore(score, evaluatorName));
  }
  return [toRowScore(result, evaluatorName)];
}

function toRowScore(candidate: unknown, evaluatorName: string): RowScore {
  if (typeof candidate !== "object" || candidate === null) {
    throw new TypeError("it returned an array in which an item is not an object");
  }
  const [unknownKey] = unknownKeysOf(candidate, scoreKeys);
  if (unknownKey !== undefined) {
    throw new TypeError(`it returned an object with an ${unknownKeyText("member", unknownKey)}`);
  }
  // The members are checked below.
  const result = candidate as Score;
  const key = result.key ?? result.name ?? evaluatorName;
  if (typeof key !== "string" || key === "" || key.length > maxKeyLength) {
    throw new TypeError(`it returned a key that is not a text of 1 to ${maxKeyLength} characters`);
  }
  const metadata = isPresent(result.metadata)
    ? (toJsonValue(result.metadata, "metadata").json as RowScore["metadata"])
    : undefined;
  if (isPresent(result.error)) {
    return { key, error: describeError(result.error), ...(metadata && { metadata }) };
  }
  const { comment, correction } = result;
  if (isPresent(comment) && typeof comment !== "string") {
    throw new TypeError("it returned a comment that is not a text");
  }
  return {
    key,
    ...(isPresent(result.score) && { score: checkScore(result.score) }),
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

function checkScore(score: unknown): number | boolean {
  if (typeof score === "boolean" || (typeof score === "number" && Number.isFinite(score))) {
    return score;
  }
  const shown = typeof score === "number" ? String(score) : `of type ${typeof score}`;
  throw new TypeError(
    `it returned a score that is ${shown}; a score is a finite number or a boolean`,
  );
}

const isPresent = <Value>(value: Value | null | undefined): value is Value =>
  value !== undefined && value !== null;

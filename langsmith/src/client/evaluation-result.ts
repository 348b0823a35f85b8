import type { FeedbackConfig, ScoreType, ValueType } from "../schemas.ts";

/** The result of an evaluator. */
export type EvaluationResult = {
  key: string;
  score?: ScoreType;
  value?: ValueType;
  comment?: string;
  correction?: Record<string, unknown>;
  evaluatorInfo?: Record<string, unknown>;
  /** The run of the evaluator. */
  sourceRunId?: string;
  /** The run that the result is about. @defaultValue the root of the row's trace */
  targetRunId?: string;
  feedbackConfig?: FeedbackConfig;
};

/** Several results of one evaluator. */
export type EvaluationResults = { results: EvaluationResult[] };

/** What an evaluator may return. */
export type EvaluatorReturn = EvaluationResult | EvaluationResult[] | EvaluationResults;

/** Converts the results of an evaluator to a list. */
export function toResultList(returned: EvaluatorReturn): EvaluationResult[] {
  if (Array.isArray(returned)) {
    return returned;
  }
  return "results" in returned ? returned.results : [returned];
}

import type { FeedbackConfig, ScoreType, ValueType } from "../schemas.ts";

/** What an evaluator returns. */
export type EvaluationResult = {
  key: string;
  score?: ScoreType;
  value?: ValueType;
  comment?: string;
  correction?: Record<string, unknown>;
  evaluatorInfo?: Record<string, unknown>;
  /** The run of the evaluator. */
  sourceRunId?: string;
  /** The run that is judged. @defaultValue the root of the row's trace */
  targetRunId?: string;
  feedbackConfig?: FeedbackConfig;
};

/** Several results of one evaluator. */
export type EvaluationResults = { results: EvaluationResult[] };

/** Returns the results as a list, in whichever form an evaluator returned them. */
export function toResultList(
  returned: EvaluationResult | EvaluationResult[] | EvaluationResults,
): EvaluationResult[] {
  if (Array.isArray(returned)) {
    return returned;
  }
  return "results" in returned ? returned.results : [returned];
}

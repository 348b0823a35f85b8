export { evaluateComparative } from "./comparative.ts";
export type {
  ComparativeArguments,
  ComparativeEvaluator,
  ComparativeResult,
  ComparativeScores,
  EvaluateComparativeOptions,
  Preference,
} from "./comparative.ts";
export { evaluateExperiment, evaluateTraces } from "./existing-runs.ts";
export type { EvaluateExperimentOptions, EvaluateTracesOptions } from "./existing-runs.ts";
export { embeddingSimilarity, llmJudge } from "./scorers.ts";
export type { EmbeddingOptions, JudgeOptions, JudgeRequest, Scorer } from "./scorers.ts";
export {
  contains,
  editSimilarity,
  exactMatch,
  jsonEquality,
  matchesRegex,
  numericCloseness,
  validJson,
} from "../scorers/scorers.ts";
export type {
  ContainsOptions,
  JsonEqualityOptions,
  NumericOptions,
  OutputScore,
  OutputScorer,
  ScoredOutputs,
  ScorerOptions,
} from "../scorers/scorers.ts";
export { evaluate } from "./evaluate.ts";
export { currentRow } from "./rows/row-context.ts";
export { cachedFetch } from "./cache/cached-fetch.ts";
export type { CachedFetchOptions } from "./cache/cached-fetch.ts";
export type { CacheMode, CacheSettings } from "./cache/cache-options.ts";
export type {
  DatasetSelection,
  EvaluationData,
  EvaluationExample,
  EvaluationRow,
  ExampleAttachment,
  ExampleAttachments,
} from "./data.ts";
export type { CurrentRow, Evaluation } from "./evaluation.ts";
export type {
  Evaluator,
  EvaluatorArguments,
  EvaluatorFunction,
  EvaluatorResult,
  RowScore,
  Score,
} from "./evaluator.ts";
export type {
  Baseline,
  EvaluateOptions,
  EvaluatorOptions,
  SummaryArguments,
  SummaryEvaluator,
} from "./options.ts";
export type {
  BaselineComparison,
  CacheCounts,
  EvaluatedRow,
  EvaluationProgress,
  EvaluationResult,
  ExperimentInfo,
  FailureReason,
  ScoreChange,
  ScoreComparison,
  ScoreSummary,
} from "./result.ts";
export { setEvaluationRunner } from "./runner.ts";
export type { EvaluationObserver, EvaluationRunner, RunnerOptions } from "./runner.ts";
export type { Target, TargetContext, TargetFunction } from "./target.ts";

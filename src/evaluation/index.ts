export { evaluate } from "./evaluate.ts";
export { currentRow } from "./row-runner.ts";
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
  EvaluatedRow,
  EvaluationProgress,
  EvaluationResult,
  ExperimentInfo,
  ScoreChange,
  ScoreComparison,
  ScoreSummary,
} from "./result.ts";
export type { Target, TargetContext, TargetFunction } from "./target.ts";

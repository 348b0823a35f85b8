export { evaluateComparative } from "../evaluation/comparative.ts";
export { evaluate, ExperimentResults } from "../evaluation/evaluate.ts";
export type {
  DataT,
  EvaluateOptions,
  ExperimentResultRow,
  SummaryEvaluatorT,
  TargetT,
} from "../evaluation/evaluate.ts";
export type { EvaluationResult, EvaluationResults } from "../client/evaluation-result.ts";
export { StringEvaluator } from "../evaluation/evaluator.ts";
export type {
  EvaluatorT,
  GradingFunctionParams,
  GradingFunctionResult,
  RunEvaluator,
} from "../evaluation/evaluator.ts";

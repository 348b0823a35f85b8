import { currentRun } from "millrace";
import type { Run as MillraceRun } from "millrace";
import { evaluateComparative as compareWithMillrace } from "millrace/evaluation";
import type { Any } from "../any.ts";
import type { Client } from "../client/client.ts";
import { findSharedClient } from "../client/shared-client.ts";
import { toComparative, toExample, toRun } from "../client/to-langsmith.ts";
import type {
  ComparativeExperiment,
  ComparisonEvaluationResult,
  Example,
  Run,
} from "../schemas.ts";
import { warnOnce } from "../environment.ts";
import { warnOfUnknownOptions } from "../unknown-options.ts";
import type { OptionTable } from "../unknown-options.ts";

/** The named arguments of an evaluator that compares experiments. */
interface ComparativeInput {
  runs: Run[];
  example: Example;
  inputs: Record<string, Any>;
  outputs: Record<string, Any>[];
  referenceOutputs?: Record<string, Any>;
}

type Returned = ComparisonEvaluationResult | Promise<ComparisonEvaluationResult>;

/** An evaluator that compares experiments: a function of the runs and the example, or of named arguments. */
export type ComparativeEvaluator =
  | ((runs: Run[], example: Example) => Returned)
  | ((args: ComparativeInput) => Returned);

/** What `evaluateComparative` compares the experiments with, and how the comparison is named and described. */
export interface EvaluateComparativeOptions {
  evaluators: ComparativeEvaluator[];
  randomizeOrder?: boolean;
  client?: Client;
  metadata?: Record<string, unknown>;
  experimentPrefix?: string;
  description?: string;
  loadNested?: boolean;
  maxConcurrency?: number;
}

const comparativeOptions: OptionTable<EvaluateComparativeOptions> = {
  evaluators: true,
  experimentPrefix: true,
  description: true,
  metadata: true,
  maxConcurrency: true,
  randomizeOrder: true,
  loadNested: true,
  client: true,
};

/** What `evaluateComparative` returns: the stored comparison, and the scores of its examples. */
export interface ComparisonEvaluationResults {
  experimentName: string;
  /** One result for each example and evaluator. */
  results: ComparisonEvaluationResult[];
  /** The address of the comparison in the UI. */
  url: string | null;
  comparativeExperiment: ComparativeExperiment;
}

/** The part of an evaluation's result that a comparison needs. */
interface NamedExperiment {
  readonly experimentName: string;
}

/** Compares experiments on the same dataset, example by example. */
export async function evaluateComparative(
  experiments: string[] | (Promise<NamedExperiment> | NamedExperiment)[],
  options: EvaluateComparativeOptions,
): Promise<ComparisonEvaluationResults> {
  const client = options.client ?? findSharedClient();
  // The types of `evaluate` allow this option for experiments, too.
  const {
    numRepetitions,
    ...knownOptions
  }: EvaluateComparativeOptions & { numRepetitions?: number } = options;
  warnOfUnknownOptions("evaluateComparative", knownOptions, comparativeOptions);
  if (numRepetitions !== undefined) {
    warnOnce(
      "The option numRepetitions of evaluateComparative has no effect: each pair of runs is compared once.",
    );
  }
  const names = await Promise.all(
    experiments.map(async (experiment) =>
      typeof experiment === "string" ? experiment : (await experiment).experimentName,
    ),
  );
  const suffix = crypto.randomUUID().slice(0, 8);
  const prefix = options.experimentPrefix ?? names.join(" vs. ");
  const results: ComparisonEvaluationResult[] = [];
  const { maxConcurrency, description, metadata } = options;
  const comparison = await compareWithMillrace(names, {
    client: client.millrace,
    name: `${prefix}-${suffix}`,
    // Programs in JavaScript also pass null.
    description: description ?? undefined,
    metadata: metadata ?? undefined,
    concurrency: Math.max(1, maxConcurrency ?? 1),
    seed: options.randomizeOrder === true ? Math.trunc(Math.random() * 2 ** 32) : false,
    evaluators: options.evaluators.map((evaluator, index) => {
      const call = async (args: {
        readonly runs: readonly MillraceRun[];
        readonly example: {
          readonly id: string;
          readonly inputs: Record<string, unknown>;
          readonly outputs?: Record<string, unknown> | undefined;
          readonly metadata: Readonly<Record<string, unknown>>;
          readonly splits: readonly string[];
          readonly datasetId?: string | undefined;
        };
      }) => {
        const runs = await Promise.all(
          args.runs.map(async (run) =>
            options.loadNested === true
              ? client.readRun(run.id, { loadChildRuns: true })
              : toRun(run),
          ),
        );
        const example = toExample({ ...args.example, datasetId: args.example.datasetId ?? "" });
        const returned = await callEvaluator(evaluator, runs, example);
        const sourceRunId = returned.source_run_id ?? currentRun()?.id;
        results.push({
          ...returned,
          ...(sourceRunId === undefined ? {} : { source_run_id: sourceRunId }),
        });
        return {
          key: returned.key,
          scores: runs.map(({ id }) => Number(returned.scores[id] ?? 0)),
        };
      };
      return Object.defineProperty(call, "name", {
        value: evaluator.name || `evaluator ${index + 1}`,
      });
    }),
  });
  const [comparative] = await client.millrace.experiments
    .listComparative({
      datasetId:
        (await client.millrace.projects.read({ projectName: names[0] ?? "" })).referenceDatasetId ??
        "",
      ids: [comparison.id],
    })
    .toArray();
  return {
    experimentName: comparison.name,
    results,
    url: comparison.url ?? null,
    comparativeExperiment:
      comparative === undefined
        ? ({ id: comparison.id, name: comparison.name } as ComparativeExperiment)
        : toComparative(comparative),
  };
}

/** Calls an evaluator. As in langsmith, a function with a single parameter gets named arguments. */
async function callEvaluator(
  evaluator: ComparativeEvaluator,
  runs: Run[],
  example: Example,
): Promise<ComparisonEvaluationResult> {
  if (evaluator.length === 1) {
    return (evaluator as (args: ComparativeInput) => Returned)({
      runs,
      example,
      inputs: example.inputs,
      outputs: runs.map(({ outputs }) => outputs ?? {}),
      ...(example.outputs === undefined ? {} : { referenceOutputs: example.outputs }),
    });
  }
  return (evaluator as (runs: Run[], example: Example) => Returned)(runs, example);
}

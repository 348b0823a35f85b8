import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { evaluate as evaluateWithMillrace } from "millrace/evaluation";
import type {
  EvaluatedRow,
  EvaluationResult as MillraceResult,
  EvaluationRow,
  SummaryArguments,
  TargetContext,
} from "millrace/evaluation";
import type { Example as MillraceExample } from "millrace";
import type { Any } from "../any.ts";
import { translateAdvice } from "../client/advice.ts";
import type { Client } from "../client/client.ts";
import { findSharedClient } from "../client/shared-client.ts";
import { toExample } from "../client/to-langsmith.ts";
import { warnOnce } from "../environment.ts";
import { warnOfUnknownOptions } from "../unknown-options.ts";
import type { OptionTable } from "../unknown-options.ts";
import type { AttachmentInfo, Example, KVMap, Run } from "../schemas.ts";
import { traceableMark } from "../tracing/context.ts";
import { isTraceableFunction } from "../tracing/current-run.ts";
import { traceable } from "../tracing/traceable.ts";
import type { EvaluationResults, EvaluatorReturn } from "../client/evaluation-result.ts";
import { toEvaluationResult, convertRow, toMillraceEvaluators, toScores } from "./evaluator.ts";
import { printFailures, printSummaryFailures } from "./failures.ts";
import { TargetRuns } from "./target-run.ts";
import type { EvaluatorT, ConvertedRow } from "./evaluator.ts";
import { evaluateComparative } from "./comparative.ts";
import type { ComparativeEvaluator, ComparisonEvaluationResults } from "./comparative.ts";

/** The second argument of a target. */
export type TargetConfigT = KVMap & {
  attachments?: Record<string, AttachmentInfo>;
  callbacks?: Any;
};

type StandardTarget<Input = Any, Output = KVMap> =
  | ((input: Input, config?: TargetConfigT) => Promise<Output>)
  | ((input: Input, config?: TargetConfigT) => Output)
  | { invoke: (input: Input, config?: TargetConfigT) => Output }
  | { invoke: (input: Input, config?: TargetConfigT) => Promise<Output> };

/** Experiments to compare: their names, or their results. */
type ComparativeTarget = string[] | (Promise<ExperimentResults> | ExperimentResults)[];

/** The target of an evaluation, or experiments to compare. */
export type TargetT<Input = Any, Output = KVMap> =
  | StandardTarget<Input, Output>
  | ComparativeTarget;

/** The name or id of a dataset, or examples. */
export type DataT = string | AsyncIterable<Example> | Example[];

/** The named arguments of a summary evaluator. */
interface SummaryInput {
  runs: Run[];
  examples: Example[];
  inputs: Record<string, Any>[];
  outputs: Record<string, Any>[];
  referenceOutputs?: Record<string, Any>[];
}

/** An evaluator of all rows: a function of the runs and the examples, or of named arguments. */
export type SummaryEvaluatorT =
  | ((runs: Run[], examples: Example[]) => EvaluatorReturn)
  | ((runs: Run[], examples: Example[]) => Promise<EvaluatorReturn>)
  | ((args: SummaryInput) => EvaluatorReturn)
  | ((args: SummaryInput) => Promise<EvaluatorReturn>);

interface BaseEvaluateOptions {
  metadata?: KVMap;
  experimentPrefix?: string;
  description?: string;
  maxConcurrency?: number;
  client?: Client;
  numRepetitions?: number;
}

/** The data and the evaluators of `evaluate`, and how many rows and evaluators run at a time. */
export interface EvaluateOptions extends BaseEvaluateOptions {
  targetConcurrency?: number;
  evaluationConcurrency?: number;
  evaluators?: EvaluatorT[];
  summaryEvaluators?: SummaryEvaluatorT[];
  data: DataT;
  includeAttachments?: boolean;
  disableEvaluatorTracing?: boolean;
}

/** Options of `evaluate` for comparing experiments. */
export interface ComparativeEvaluateOptions extends BaseEvaluateOptions {
  evaluators: ComparativeEvaluator[];
  loadNested?: boolean;
  randomizeOrder?: boolean;
}

const evaluateOptions: OptionTable<EvaluateOptions> = {
  data: true,
  evaluators: true,
  summaryEvaluators: true,
  experimentPrefix: true,
  description: true,
  metadata: true,
  numRepetitions: true,
  maxConcurrency: true,
  targetConcurrency: true,
  evaluationConcurrency: true,
  includeAttachments: true,
  disableEvaluatorTracing: true,
  client: true,
};

/** The result of evaluating one example once. */
export interface ExperimentResultRow {
  run: Run;
  example: Example;
  evaluationResults: EvaluationResults;
}

/** The result of an evaluation: its rows, in the order of the data, and the results of summary evaluators. */
export class ExperimentResults implements AsyncIterableIterator<ExperimentResultRow> {
  results: ExperimentResultRow[];
  /** The number of rows. */
  processedCount: number;
  summaryResults: EvaluationResults;
  readonly #experimentName: string;
  /** The position of the iteration. */
  #position = 0;

  /** @internal */
  constructor(
    experimentName: string,
    rows: ExperimentResultRow[],
    summaryResults: EvaluationResults,
  ) {
    this.#experimentName = experimentName;
    this.results = rows;
    this.processedCount = rows.length;
    this.summaryResults = summaryResults;
  }

  get experimentName(): string {
    return this.#experimentName;
  }

  get length(): number {
    return this.results.length;
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<ExperimentResultRow> {
    return this;
  }

  async next(): Promise<IteratorResult<ExperimentResultRow>> {
    const row = this.results[this.#position];
    if (row === undefined) {
      return { done: true, value: undefined };
    }
    this.#position += 1;
    return { done: false, value: row };
  }
}

/**
 * Calls a target for each example of a dataset and evaluates the outputs, or compares experiments. It uses
 * `millrace/evaluation`, so each row is stored when it finishes.
 */
export function evaluate(
  target: ComparativeTarget,
  options: ComparativeEvaluateOptions,
): Promise<ComparisonEvaluationResults>;
export function evaluate(
  target: StandardTarget,
  options: EvaluateOptions,
): Promise<ExperimentResults>;
export async function evaluate(
  target: TargetT,
  options: EvaluateOptions | ComparativeEvaluateOptions,
): Promise<ExperimentResults | ComparisonEvaluationResults> {
  if (Array.isArray(target)) {
    return evaluateComparative(target, options as ComparativeEvaluateOptions);
  }
  return new ExperimentRun(target, options as EvaluateOptions).run();
}

/** One call of `evaluate`. */
class ExperimentRun {
  readonly #target: StandardTarget;
  readonly #options: EvaluateOptions;
  readonly #client: Client;
  /** The examples by id, each with the attachments that the target and the evaluators get. */
  readonly #examples = new Map<string, { example: Example; attachments: KVMap | undefined }>();
  readonly #targetRuns: TargetRuns;

  constructor(target: StandardTarget, options: EvaluateOptions) {
    this.#target = target;
    this.#options = options;
    this.#client = options.client ?? findSharedClient();
    this.#targetRuns = new TargetRuns(this.#client, options.metadata ?? {});
    warnOfUnknownOptions("evaluate", options, evaluateOptions);
    if (options.disableEvaluatorTracing === true) {
      warnOnce(
        "The option disableEvaluatorTracing of evaluate has no effect: the runs of evaluators are recorded.",
      );
    }
  }

  async run(): Promise<ExperimentResults> {
    const { evaluators = [], summaryEvaluators = [], numRepetitions, description } = this.#options;
    const name = `${this.#options.experimentPrefix ?? "evaluation"}-${crypto.randomUUID().slice(0, 8)}`;
    // Each call creates an experiment with a new name. No later call can resume it, so its journal is removed at the
    // end.
    const journalDir = await mkdtemp(join(tmpdir(), "millrace-evaluate-"));
    try {
      const evaluation = evaluateWithMillrace(this.#toTarget(), {
        client: this.#client.millrace,
        data: await this.#readData(),
        experiment: name,
        resume: false,
        journalDir,
        concurrency: toConcurrency(this.#options),
        description: description ?? undefined,
        ...(numRepetitions === undefined ? {} : { repetitions: Math.max(1, numRepetitions) }),
        // Programs in JavaScript also pass null.
        metadata: this.#options.metadata ?? undefined,
        evaluators: toMillraceEvaluators(evaluators, {
          client: this.#client,
          toRow: (args) => {
            const remembered = this.#examples.get(args.example.id);
            const converted = convertRow(args, remembered?.attachments);
            const run = this.#targetRuns.find(args.run.id) ?? converted.run;
            const sessionId = args.run.projectId;
            const row = {
              ...converted,
              run: { ...run, ...(sessionId === undefined ? {} : { session_id: sessionId }) },
            };
            return remembered === undefined ? row : { ...row, example: remembered.example };
          },
        }),
        onRow: (row) => printFailures(this.#targetName, row),
        summaryEvaluators: summaryEvaluators.map((evaluator) => this.#toSummary(evaluator)),
      });
      const result = await evaluation;
      printSummaryFailures(result.summaryScores);
      const { name: experimentName, url } = result.experiment;
      const address = url === undefined ? "" : `: ${url}`;
      console.log(`Evaluated ${result.rows} rows as the experiment ${experimentName}${address}`);
      return await this.#toResults(result);
    } catch (error) {
      throw translateAdvice(error);
    } finally {
      await rm(journalDir, { recursive: true, force: true });
    }
  }

  #toTarget(): (inputs: KVMap, context: TargetContext) => unknown {
    const target = this.#toTraced();
    const call = async (inputs: KVMap, { example }: TargetContext): Promise<unknown> => {
      const attachments = this.#examples.get(example.id)?.attachments;
      this.#remember(example);
      const config =
        this.#options.includeAttachments === true ? { attachments: attachments ?? {} } : undefined;
      return this.#targetRuns.call(() =>
        target(...(config === undefined ? [inputs] : [inputs, config])),
      );
    };
    Object.defineProperty(call, "name", { value: this.#targetName });
    return this.#targetRuns.recordRunsOf(call);
  }

  /** Returns the target as a traced function, whose runs become the root runs of the rows. */
  #toTraced(): (...args: unknown[]) => unknown {
    const target = this.#target;
    if (isTraceableFunction(target)) {
      return target;
    }
    const call = (...args: unknown[]): unknown => {
      const passed = args as [KVMap, TargetConfigT?];
      return "invoke" in target ? target.invoke(...passed) : target(...passed);
    };
    return traceable(call, { name: this.#targetName }) as (...args: unknown[]) => unknown;
  }

  get #targetName(): string {
    const target = this.#target;
    if (isTraceableFunction(target)) {
      const { name } = Reflect.get(target, traceableMark) as { readonly name?: string };
      return name ?? "target";
    }
    return "invoke" in target ? "target" : target.name || "target";
  }

  #remember(example: TargetContext["example"]): void {
    if (!this.#examples.has(example.id)) {
      const { attachments: _, ...fields } = example;
      this.#examples.set(example.id, {
        example: toExample({ ...fields, datasetId: example.datasetId ?? "" }),
        attachments: undefined,
      });
    }
  }

  /** Reads the examples if their attachments are needed. Otherwise Millrace reads them. */
  async #readData(): Promise<string | { datasetId: string } | AsyncIterable<EvaluationRow>> {
    const { data, includeAttachments = false } = this.#options;
    if (typeof data !== "string") {
      return this.#toRows(data);
    }
    const isId = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(data);
    if (!includeAttachments) {
      return isId ? { datasetId: data } : data;
    }
    const key = isId ? { datasetId: data } : { datasetName: data };
    return this.#toRows(this.#client.listExamples({ ...key, includeAttachments }));
  }

  async *#toRows(
    examples: AsyncIterable<Example> | readonly Example[],
  ): AsyncGenerator<EvaluationRow, void> {
    for await (const example of examples) {
      const { dataset_split: splits, ...metadata } = example.metadata ?? {};
      this.#examples.set(example.id, { example, attachments: example.attachments });
      yield {
        id: example.id,
        inputs: example.inputs,
        outputs: example.outputs,
        metadata,
        splits: [splits ?? []].flat() as string[],
        datasetId: example.dataset_id,
      };
    }
  }

  #toSummary(evaluator: SummaryEvaluatorT) {
    const call = async (args: SummaryArguments<KVMap, unknown, KVMap>) => {
      const rows = await this.#collect(args.readRows());
      const runs = rows.map(({ run }) => run);
      const examples = rows.map(({ example }) => example);
      const input: SummaryInput = {
        runs,
        examples,
        inputs: examples.map(({ inputs }) => inputs),
        outputs: runs.map(({ outputs }) => outputs ?? {}),
        referenceOutputs: examples.map(({ outputs }) => outputs ?? {}),
      };
      const returned =
        evaluator.length === 1
          ? await (evaluator as (input: SummaryInput) => Promise<EvaluatorReturn>)(input)
          : await (evaluator as (runs: Run[], examples: Example[]) => Promise<EvaluatorReturn>)(
              runs,
              examples,
            );
      return toScores(returned);
    };
    return Object.defineProperty(call, "name", { value: evaluator.name });
  }

  async #toResults(result: MillraceResult<KVMap, unknown, KVMap>): Promise<ExperimentResults> {
    const rows = await this.#collect(result.readRows(), result.experiment.id);
    return new ExperimentResults(result.experiment.name, rows, {
      results: result.summaryScores.map(toEvaluationResult),
    });
  }

  /** Reads all rows, in the order of the data. */
  async #collect(
    rows: AsyncIterable<EvaluatedRow<KVMap, unknown, KVMap>>,
    projectId?: string,
  ): Promise<ExperimentResultRow[]> {
    const collected: { readonly row: ExperimentResultRow; readonly position: number }[] = [];
    const positions = new Map([...this.#examples.keys()].map((id, index) => [id, index]));
    for await (const row of rows) {
      const example = this.#examples.get(row.exampleId)?.example ?? toBareExample(row);
      const run = toRowRun(row, { name: this.#targetName, example, projectId });
      collected.push({
        row: {
          run: { ...run, ...this.#targetRuns.find(row.runId) },
          example,
          evaluationResults: {
            results: row.scores.filter(({ error }) => error === undefined).map(toEvaluationResult),
          },
        },
        position: row.repetition * positions.size + (positions.get(row.exampleId) ?? 0),
      });
    }
    return collected
      .toSorted((left, right) => left.position - right.position)
      .map(({ row }) => row);
  }
}

/** Returns how many rows are evaluated at once. As in langsmith, the default is one. */
function toConcurrency(options: EvaluateOptions): number {
  const { targetConcurrency, evaluationConcurrency, maxConcurrency } = options;
  const concurrency = targetConcurrency ?? maxConcurrency ?? evaluationConcurrency ?? 1;
  return Math.min(Math.max(1, concurrency), 10_000);
}

const toBareExample = (row: EvaluatedRow<KVMap, unknown, KVMap>): Example =>
  toExample({
    id: row.exampleId,
    datasetId: "",
    inputs: row.inputs,
    outputs: row.referenceOutputs,
    metadata: {},
    splits: [],
  } satisfies MillraceExample);

function toRowRun(
  row: EvaluatedRow<KVMap, unknown, KVMap>,
  {
    name,
    example,
    projectId,
  }: {
    readonly name: string;
    readonly example: ConvertedRow["example"];
    readonly projectId?: string | undefined;
  },
): Run {
  const { outputs, error } = row;
  const isObject = typeof outputs === "object" && outputs !== null && !Array.isArray(outputs);
  return {
    id: row.runId,
    trace_id: row.runId,
    name,
    run_type: "chain",
    inputs: row.inputs,
    ...(outputs === undefined ? {} : { outputs: isObject ? outputs : { outputs } }),
    ...(error === undefined ? {} : { error }),
    start_time: Date.parse(row.startTime),
    end_time: Date.parse(row.startTime) + row.durationMs,
    reference_example_id: example.id,
    ...(projectId === undefined ? {} : { session_id: projectId }),
  };
}

import { Client, ValidationError, withRun } from "../main/index.ts";
import type { Comparison, CreateFeedback, KeyValues, Project, Run } from "../main/index.ts";
import { checkKeys } from "../model/index.ts";
import type { KeyTable } from "../model/index.ts";
import type { EvaluationExample } from "./data.ts";
import { callWithLimits, describeError, joinSignals, throwIfAborted } from "./rows/deadline.ts";
import type { LazySignal } from "./rows/deadline.ts";
import { defaultEvaluatorProject } from "./evaluate.ts";
import { withClient } from "./start-evaluation.ts";
import { findProject, readUrl } from "./store/experiment.ts";
import { createFeedbackId, createNamedId } from "./ids.ts";
import { checkSignal, checkStoredOptions, checkText, ranges, readNumber } from "./option-checks.ts";
import { runPool } from "./rows/row-pool.ts";
import { signTest } from "./significance.ts";
import { fromOutputs } from "./payload.ts";
import { rejectEvaluateOptions } from "./runner.ts";

/** Arguments of a comparative evaluator: the outputs of each experiment for one example, in random order. */
export interface ComparativeArguments<
  Inputs = KeyValues,
  Outputs = KeyValues,
  Reference = KeyValues,
> {
  readonly example: EvaluationExample<Inputs, Reference>;
  readonly inputs: Inputs;
  readonly referenceOutputs: Reference;
  /** The outputs, in the order of `runs`. */
  readonly outputs: readonly Outputs[];
  readonly runs: readonly Run[];
  /** Aborted when the evaluator's time is up, or when the evaluation is aborted. */
  readonly signal: AbortSignal;
}

/** The result of a comparative evaluator. */
export interface ComparativeScores {
  /** The feedback key. @defaultValue the evaluator's name */
  readonly key?: string | undefined;
  /** A score for each of `runs`, in their order; higher is better. */
  readonly scores: readonly number[];
  readonly comment?: string | undefined;
}

/** Compares the outputs of experiments for one example. It may also return only the scores. */
export type ComparativeEvaluator<Inputs = KeyValues, Outputs = KeyValues, Reference = KeyValues> = (
  args: ComparativeArguments<Inputs, Outputs, Reference>,
) =>
  | ComparativeScores
  | readonly number[]
  | null
  | undefined
  | Promise<ComparativeScores | readonly number[] | null | undefined>;

/** What `evaluateComparative` compares the experiments with, and how the comparison is named and described. */
export interface EvaluateComparativeOptions<
  Inputs = KeyValues,
  Outputs = KeyValues,
  Reference = KeyValues,
> {
  readonly evaluators: readonly ComparativeEvaluator<Inputs, Outputs, Reference>[];
  /** Name of the comparison. @defaultValue the names of the experiments */
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly metadata?: KeyValues | undefined;
  /**
   * Seed for the order in which the outputs are passed. Evaluators that are models tend to prefer the output that they
   * read first, so each example gets its own order, which is derived from the seed and the example. `false` keeps the
   * order of the experiments.
   *
   * @defaultValue 1
   */
  readonly seed?: number | false | undefined;
  /** Number of examples in progress, 1 to 10,000. @defaultValue 10 */
  readonly concurrency?: number | undefined;
  /** Longest time of one call of an evaluator, in milliseconds. @defaultValue 600,000 */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Project of the evaluators' runs. @defaultValue `"evaluators"` */
  readonly evaluatorProject?: string | undefined;
  /** @defaultValue a client that the environment configures, which is closed at the end */
  readonly client?: Client | undefined;
}

/** How an experiment was scored, and how often it was preferred, for one feedback key. */
export interface Preference {
  readonly key: string;
  readonly experiment: string;
  readonly mean: number;
  /** Number of examples for which the experiment alone had the highest score. */
  readonly wins: number;
}

/** The result of a comparative evaluation. */
export interface ComparativeResult {
  /** Id of the comparison on the server. */
  readonly id: string;
  readonly name: string;
  /** Address in the UI; absent if the server did not report the tenant. */
  readonly url?: string | undefined;
  readonly experiments: readonly { readonly id: string; readonly name: string }[];
  /** Number of compared examples: every experiment has a run without an error for them. */
  readonly examples: number;
  /** Number of examples that were left out, because an experiment has no run without an error for them. */
  readonly skipped: number;
  readonly preferences: readonly Preference[];
  /** P-values by feedback key, of a sign test on the wins of two experiments; empty for more than two experiments. */
  readonly pValues: Readonly<Record<string, number>>;
  /** Failures of evaluators, at most 100. */
  readonly errors: readonly {
    readonly evaluator: string;
    readonly exampleId: string;
    readonly error: string;
  }[];
  readonly errorCount: number;
}

const comparativeKeys: KeyTable<EvaluateComparativeOptions> = {
  evaluators: 1,
  name: 1,
  description: 1,
  metadata: 1,
  seed: 1,
  concurrency: 1,
  timeoutMs: 1,
  signal: 1,
  evaluatorProject: 1,
  client: 1,
};

type UntypedOptions = EvaluateComparativeOptions<unknown, unknown, unknown>;

/**
 * Compares experiments over the same dataset, example by example. The scores become feedback on the experiments' runs,
 * as part of a comparison that the UI shows.
 *
 * @param experiments - names of at least two experiments, each once.
 * @throws `ValidationError` (as a rejection) if an option is invalid, an experiment does not exist or is named twice, or the experiments
 * have different datasets.
 */
export async function evaluateComparative<
  Inputs = KeyValues,
  Outputs = KeyValues,
  Reference = KeyValues,
>(
  experiments: readonly string[],
  options: EvaluateComparativeOptions<Inputs, Outputs, Reference>,
): Promise<ComparativeResult> {
  const untypedOptions = options as unknown as UntypedOptions;
  rejectEvaluateOptions("evaluateComparative", untypedOptions);
  checkKeys<UntypedOptions>(untypedOptions, comparativeKeys, {
    subject: "evaluateComparative",
    error: ValidationError,
  });
  checkExperiments(experiments);
  const { evaluators, seed = 1 } = options;
  if (
    !Array.isArray(evaluators) ||
    evaluators.length === 0 ||
    evaluators.some((evaluator: unknown) => typeof evaluator !== "function")
  ) {
    throw new ValidationError("evaluateComparative: `evaluators` must be an array of functions");
  }
  if (seed !== false && !Number.isSafeInteger(seed)) {
    throw new ValidationError("`seed` must be a whole number, or false for no random order");
  }
  checkStoredOptions(options);
  checkSignal(options.signal);
  const evaluatorProject =
    checkText("evaluatorProject", options.evaluatorProject) ?? defaultEvaluatorProject;
  const concurrency = readNumber("concurrency", options.concurrency, ranges.concurrency);
  const timeoutMs = readNumber("timeoutMs", options.timeoutMs, ranges.timeoutMs);
  const name = checkText("name", options.name) ?? experiments.join(" vs. ");
  return withClient(
    options.client,
    () => new Client(),
    (client) =>
      compareExperiments({
        client,
        experiments,
        options: untypedOptions,
        seed,
        concurrency,
        timeoutMs,
        name,
        evaluatorProject,
        signal: joinSignals(options.signal),
      }),
  );
}

function checkExperiments(experiments: readonly string[]): void {
  if (
    !Array.isArray(experiments) ||
    experiments.length < 2 ||
    experiments.some((name: unknown) => typeof name !== "string" || name === "")
  ) {
    throw new ValidationError("evaluateComparative: pass the names of at least two experiments");
  }
  const names: readonly string[] = experiments;
  const duplicate = names.find((name, index) => names.indexOf(name) !== index);
  if (duplicate !== undefined) {
    throw new ValidationError(
      `evaluateComparative: the experiment ${JSON.stringify(duplicate)} is named more than once. Name each experiment once`,
    );
  }
}

/** The validated arguments. */
interface Request {
  readonly client: Client;
  readonly experiments: readonly string[];
  readonly options: UntypedOptions;
  readonly seed: number | false;
  readonly concurrency: number;
  readonly timeoutMs: number;
  readonly name: string;
  readonly evaluatorProject: string;
  readonly signal: AbortSignal;
}

/** Number of collected feedback entries at which they are uploaded. */
const feedbackPerUpload = 1_000;

async function compareExperiments(request: Request): Promise<ComparativeResult> {
  const { client, options, name, concurrency, signal } = request;
  throwIfAborted(signal);
  const projects = await findExperiments(request);
  const datasetId = projects[0]?.referenceDatasetId ?? "";
  const experimentIds = projects.map(({ id }) => id);
  const comparative = await client.experiments.createComparative({
    name,
    experimentIds,
    referenceDatasetId: datasetId,
    description: options.description,
    metadata: options.metadata,
    signal,
  });
  const tally = new Tally(projects);
  let pendingFeedback: CreateFeedback[] = [];
  /**
   * Uploads run one after another, and the evaluation waits for them, so that feedback does not pile up if the server
   * is slow.
   */
  let uploading: Promise<void> = Promise.resolve();
  const upload = (): Promise<void> => {
    const feedback = pendingFeedback;
    pendingFeedback = [];
    uploading = uploading.then(() => sendFeedback(client, feedback));
    return uploading;
  };
  const comparisons = client.experiments.compare({ datasetId, experimentIds, signal });
  await runPool(comparisons[Symbol.asyncIterator](), {
    concurrency,
    signal,
    run: async (comparison) => {
      const orderedRuns = orderRuns(comparison, experimentIds, request.seed);
      if (orderedRuns === undefined) {
        tally.addSkipped();
        return;
      }
      for (const [index, evaluator] of options.evaluators.entries()) {
        const evaluatorName = evaluator.name || `evaluator ${index + 1}`;
        const judgement = await callEvaluator(request, orderedRuns, {
          evaluator,
          name: evaluatorName,
          tally,
        });
        if (judgement !== undefined) {
          tally.add(judgement);
          pendingFeedback.push(...toFeedback(judgement, comparative.id));
        }
      }
      tally.addExample();
      if (pendingFeedback.length >= feedbackPerUpload) {
        await upload();
      }
    },
  });
  throwIfAborted(signal);
  await upload();
  const [projectId = "", ...others] = experimentIds;
  const page = { projectId, datasetId, others, comparative: comparative.id };
  return { id: comparative.id, name, ...(await readUrl(client, page)), ...tally.result() };
}

async function findExperiments({
  client,
  experiments,
  signal,
}: Request): Promise<readonly Project[]> {
  const projects: Project[] = [];
  for (const experiment of experiments) {
    const project = await findProject(client, { projectName: experiment, signal });
    if (project?.referenceDatasetId === undefined) {
      throw new ValidationError(
        `evaluateComparative: there is no experiment ${JSON.stringify(experiment)} over a dataset. Check the name`,
      );
    }
    projects.push(project);
  }
  const other = projects.find(
    ({ referenceDatasetId }) => referenceDatasetId !== projects[0]?.referenceDatasetId,
  );
  if (other !== undefined) {
    throw new ValidationError(
      `evaluateComparative: the experiments ${JSON.stringify(projects[0]?.name)} and ${JSON.stringify(other.name)} have different datasets`,
    );
  }
  return projects;
}

/** The runs of one example, in the order in which they are passed to evaluators. */
interface OrderedRuns {
  readonly example: EvaluationExample<unknown, unknown>;
  readonly runs: readonly { readonly run: Run; readonly experimentId: string }[];
}

/**
 * Orders the first run of each experiment. Returns `undefined` if an experiment has no run for the example, or the run
 * failed: then there are no outputs to compare.
 */
function orderRuns(
  { example, runs }: Comparison,
  experimentIds: readonly string[],
  seed: number | false,
): OrderedRuns | undefined {
  const comparedRuns = experimentIds.flatMap((experimentId) => {
    const compared = runs[experimentId]?.[0];
    return compared === undefined || compared.run.error !== undefined
      ? []
      : [{ run: compared.run, experimentId }];
  });
  if (comparedRuns.length < experimentIds.length) {
    return undefined;
  }
  const { attachments: _, ...fields } = example;
  if (seed === false) {
    return { example: fields, runs: comparedRuns };
  }
  // Sorting by a digest gives a pseudo-random order that is the same in every evaluation.
  const rank = ({ experimentId }: { readonly experimentId: string }): string =>
    createNamedId(example.id, `order:${seed}:${experimentIds.indexOf(experimentId)}`);
  return {
    example: fields,
    runs: comparedRuns.toSorted((left, right) => (rank(left) < rank(right) ? -1 : 1)),
  };
}

/** The scores that one evaluator gave for one example. */
interface Judgement {
  readonly key: string;
  readonly comment: string | undefined;
  readonly sourceRunId: string;
  readonly scores: readonly {
    readonly run: Run;
    readonly experimentId: string;
    readonly score: number;
  }[];
}

async function callEvaluator(
  { client, evaluatorProject, timeoutMs, signal, name: comparison }: Request,
  { example, runs }: OrderedRuns,
  {
    evaluator,
    name,
    tally,
  }: {
    readonly evaluator: UntypedOptions["evaluators"][number];
    readonly name: string;
    readonly tally: Tally;
  },
): Promise<Judgement | undefined> {
  const { inputs, outputs: referenceOutputs } = example;
  const outputs = runs.map(({ run }) => fromOutputs(run.outputs));
  const evaluatorRun = client.startRun({
    name,
    parent: null,
    projectName: evaluatorProject,
    inputs: { inputs, outputs, referenceOutputs },
    metadata: { comparison, example_id: example.id, run_ids: runs.map(({ run }) => run.id) },
  });
  const call = (lazy: LazySignal) =>
    evaluator({
      example,
      inputs,
      referenceOutputs,
      outputs,
      runs: runs.map(({ run }) => run),
      get signal() {
        return lazy.signal;
      },
    });
  try {
    const result = await withRun(evaluatorRun, () =>
      callWithLimits(call, { timeoutMs, signal, label: `The evaluator ${name}` }),
    );
    if (result === undefined || result === null) {
      evaluatorRun.end();
      return undefined;
    }
    const { key = name, scores, comment } = isScoreList(result) ? { scores: result } : result;
    assertScores(scores, runs.length);
    evaluatorRun.end({ key, scores, comment });
    return {
      key,
      comment,
      sourceRunId: evaluatorRun.id,
      scores: runs.map((compared, index) => ({ ...compared, score: scores[index] ?? 0 })),
    };
  } catch (error) {
    evaluatorRun.fail(error);
    throwIfAborted(signal);
    tally.addError({ evaluator: name, exampleId: example.id, error: describeError(error) });
    return undefined;
  }
}

const isScoreList = (result: ComparativeScores | readonly number[]): result is readonly number[] =>
  Array.isArray(result);

function assertScores(scores: unknown, count: number): void {
  if (
    !Array.isArray(scores) ||
    scores.length !== count ||
    scores.some((score: unknown) => typeof score !== "number" || !Number.isFinite(score))
  ) {
    throw new TypeError(
      `it must return { scores } with a finite number for each of the ${count} runs, in their order`,
    );
  }
}

const toFeedback = (
  { key, comment, sourceRunId, scores }: Judgement,
  comparativeExperimentId: string,
): readonly CreateFeedback[] =>
  scores.map(({ run, experimentId, score }) => ({
    id: createNamedId(comparativeExperimentId, createFeedbackId(run.id, key, 0)),
    runId: run.id,
    key,
    score,
    comment,
    comparativeExperimentId,
    sourceType: "model",
    sourceRunId,
    traceId: run.traceId,
    runProjectId: experimentId,
    runStartTime: run.startTime,
  }));

async function sendFeedback(client: Client, feedback: readonly CreateFeedback[]): Promise<void> {
  if (feedback.length === 0) {
    return;
  }
  const { rejected, faults } = await client.feedback.upload(feedback);
  if (rejected > 0) {
    throw new ValidationError(
      `The server rejected ${rejected} scores: ${faults[0]?.reason ?? "it gave no reason"}`,
    );
  }
}

/** Maximum number of failures that are listed. */
const maxErrors = 100;

/** Counts which experiments were preferred. */
class Tally {
  readonly #projects: readonly Project[];
  readonly #byKey = new Map<string, Map<string, { count: number; sum: number; wins: number }>>();
  readonly #errors: ComparativeResult["errors"][number][] = [];
  #errorCount = 0;
  #examples = 0;
  #skipped = 0;

  constructor(projects: readonly Project[]) {
    this.#projects = projects;
  }

  addExample(): void {
    this.#examples += 1;
  }

  addSkipped(): void {
    this.#skipped += 1;
  }

  addError(error: ComparativeResult["errors"][number]): void {
    this.#errorCount += 1;
    if (this.#errors.length < maxErrors) {
      this.#errors.push(error);
    }
  }

  add({ key, scores }: Judgement): void {
    const counts =
      this.#byKey.get(key) ?? new Map<string, { count: number; sum: number; wins: number }>();
    this.#byKey.set(key, counts);
    const highest = Math.max(...scores.map(({ score }) => score));
    const winners = scores.filter(({ score }) => score === highest);
    for (const { experimentId, score } of scores) {
      const count = counts.get(experimentId) ?? { count: 0, sum: 0, wins: 0 };
      counts.set(experimentId, count);
      count.count += 1;
      count.sum += score;
      count.wins += winners.length === 1 && score === highest ? 1 : 0;
    }
  }

  result(): Omit<ComparativeResult, "id" | "name" | "url"> {
    const preferences = [...this.#byKey].flatMap(([key, counts]) =>
      this.#projects.flatMap(({ id, name }) => {
        const count = counts.get(id);
        return count === undefined
          ? []
          : [{ key, experiment: name, mean: count.sum / count.count, wins: count.wins }];
      }),
    );
    const listWins = (key: string): readonly number[] =>
      preferences.filter((preference) => preference.key === key).map(({ wins }) => wins);
    return {
      experiments: this.#projects.map(({ id, name }) => ({ id, name })),
      examples: this.#examples,
      skipped: this.#skipped,
      preferences,
      pValues: Object.fromEntries(
        this.#projects.length === 2
          ? [...this.#byKey.keys()].map((key) => {
              const [first = 0, second = 0] = listWins(key);
              return [key, signTest(first, second)];
            })
          : [],
      ),
      errors: this.#errors,
      errorCount: this.#errorCount,
    };
  }
}

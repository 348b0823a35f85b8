import { NotFoundError, ValidationError } from "../main/index.ts";
import type { Client, Dataset, KeyValues, Project, RunField, SelectedRun } from "../main/index.ts";
import { checkKeys, formatValue } from "../model/index.ts";
import { findProject, readUrl, toAverageScores } from "./store/experiment.ts";
import { createRunId } from "./ids.ts";
import type { Baseline, EvaluateOptions } from "./options.ts";
import type {
  BaselineComparison,
  UntypedRow,
  ExperimentInfo,
  ScoreChange,
  ScoreComparison,
} from "./result.ts";
import { DifferenceStatistics, permutationTest, signTest } from "./significance.ts";

/** Advice for a program that computes the value of an invalid option. */
const baselineAdvice =
  "Check where the value comes from, or pass `baseline: false` to compare with no experiment";

/**
 * Converts the option `baseline` to an object, in which an absent `experiment` means the dataset's pinned baseline.
 * Returns `undefined` if there is nothing to compare with.
 *
 * @throws {@link ValidationError} if the value of the option is not allowed.
 */
export function readBaselineOption(option: EvaluateOptions["baseline"]): Baseline | undefined {
  if (option === undefined || option === null || option === false) {
    return undefined;
  }
  if (option === true) {
    return {};
  }
  if (typeof option === "string" && option !== "") {
    return { experiment: option };
  }
  if (typeof option !== "object" || Array.isArray(option)) {
    throw new ValidationError(
      `evaluate: \`baseline\` must be the name of an experiment, true for the one that is pinned on the dataset, false for none, or an object such as { experiment: "main", lowerIsBetter: ["latency"] }, not ${describe(option)}. ${baselineAdvice}`,
    );
  }
  checkKeys<Baseline>(
    option,
    { experiment: 1, lowerIsBetter: 1 },
    { subject: "evaluate: `baseline`", error: ValidationError },
  );
  const { experiment = true, lowerIsBetter } = option;
  checkExperiment(experiment);
  checkLowerIsBetter(lowerIsBetter);
  return { ...(experiment === true ? {} : { experiment }), lowerIsBetter };
}

function checkExperiment(experiment: unknown): void {
  if (experiment !== true && (typeof experiment !== "string" || experiment === "")) {
    throw new ValidationError(
      `evaluate: \`baseline.experiment\` must be the name of an experiment, or true for the one that is pinned on the dataset, not ${describe(experiment)}. ${baselineAdvice}`,
    );
  }
}

function checkLowerIsBetter(keys: unknown): void {
  const allowed = 'must be a list of feedback keys such as ["latency"]';
  if (keys !== undefined && !Array.isArray(keys)) {
    throw new ValidationError(
      `evaluate: \`baseline.lowerIsBetter\` ${allowed}, not ${describe(keys)}. Put the key in a list`,
    );
  }
  const wrong = ((keys ?? []) as readonly unknown[]).find((key) => typeof key !== "string");
  if (wrong !== undefined) {
    throw new ValidationError(
      `evaluate: \`baseline.lowerIsBetter\` ${allowed}, not a list with ${describe(wrong)}. Pass the keys of the scores as strings`,
    );
  }
}

const describe = (value: unknown): string => (Array.isArray(value) ? "a list" : formatValue(value));

/** The experiment to compare with. */
export interface FoundBaseline extends Baseline {
  readonly project: Project;
}

/**
 * Finds the experiment to compare with.
 *
 * @throws {@link ValidationError} if there is no experiment of this name, or the dataset has no pinned baseline.
 */
export async function findBaseline(
  client: Client,
  baseline: Baseline,
  dataset: Pick<Dataset, "id" | "baselineExperimentId"> | undefined,
): Promise<FoundBaseline> {
  const { experiment } = baseline;
  if (typeof experiment === "string") {
    const project = await findProject(client, { projectName: experiment });
    if (project === undefined) {
      throw new ValidationError(
        `There is no experiment ${JSON.stringify(experiment)} to compare with. Check the name passed as \`baseline\``,
      );
    }
    return { ...baseline, project };
  }
  const projectId = dataset?.baselineExperimentId;
  if (projectId === undefined) {
    throw new ValidationError(
      "The data has no pinned baseline. Pass the name of an experiment as `baseline`, or pin one with client.datasets.update({ datasetName, baselineExperimentId })",
    );
  }
  try {
    return { ...baseline, project: await client.projects.read({ projectId }) };
  } catch (error) {
    throw error instanceof NotFoundError
      ? new ValidationError(
          `The experiment ${projectId}, which is pinned as the dataset's baseline, no longer exists. Pin another one, or pass a name as \`baseline\``,
          { cause: error },
        )
      : error;
  }
}

/** Arguments of {@link compareWithBaseline}. */
export interface ComparisonRequest {
  readonly client: Client;
  readonly baseline: FoundBaseline;
  readonly info: ExperimentInfo;
  /** The keys of the experiment's scores. */
  readonly scoreKeys: readonly string[];
  /** Reads the rows of the experiment that is compared with the baseline. */
  readonly readRows: () => AsyncIterable<UntypedRow>;
  readonly warn: (message: string) => void;
}

/** Number of examples whose runs are read together. */
const examplesPerRequest = 50;
/** Maximum number of regressions, and of improvements, that the result lists. */
const maxChanges = 1_000;
/** Key of a change in whether the target failed. The values are 1 for a failed run and 0 for any other run. */
const errorKey = "error";

/**
 * Compares an experiment with its baseline: for each example, the averages over its repetitions. Only the runs of a few
 * examples are read from the server at a time, so memory use does not grow with the data.
 */
export async function compareWithBaseline(request: ComparisonRequest): Promise<BaselineComparison> {
  const comparison = new Comparison(request.baseline);
  request.scoreKeys.forEach((key) => comparison.keys.add(key));
  let rowCount = 0;
  let exampleIds: string[] = [];
  for await (const { exampleId, repetition } of request.readRows()) {
    rowCount += 1;
    // Each example has exactly one first repetition.
    if (repetition === 1) {
      exampleIds.push(exampleId);
    }
    if (exampleIds.length === examplesPerRequest) {
      await compareExamples(request, exampleIds, comparison);
      exampleIds = [];
    }
  }
  await compareExamples(request, exampleIds, comparison);
  const { project } = request.baseline;
  const { dataset_version: datasetVersion } = (project.extra["metadata"] ?? {}) as KeyValues;
  if (comparison.examples === 0) {
    request.warn(
      `The baseline ${JSON.stringify(project.name)} has no example in common with this experiment, so nothing was compared.`,
    );
  }
  if (rowCount > 0) {
    warnOfUnknownKeys(request, comparison.keys);
  }
  return comparison.result({
    id: project.id,
    name: project.name,
    ...(await readUrl(request.client, {
      projectId: project.id,
      datasetId: project.referenceDatasetId,
    })),
    ...(project.referenceDatasetId === undefined ? {} : { datasetId: project.referenceDatasetId }),
    ...(typeof datasetVersion === "string" ? { datasetVersion } : {}),
  });
}

/** Number of existing keys that a warning names. */
const maxNamedKeys = 20;

/**
 * Warns of misspelled keys. With a misspelled key, an increase of the intended score would count as an improvement,
 * although lower is better.
 */
function warnOfUnknownKeys({ baseline, warn }: ComparisonRequest, keys: ReadonlySet<string>): void {
  const sorted = [...keys].toSorted();
  const named = sorted
    .slice(0, maxNamedKeys)
    .map((key) => JSON.stringify(key))
    .join(", ");
  const others = sorted.length > maxNamedKeys ? ` and ${sorted.length - maxNamedKeys} more` : "";
  const existing =
    sorted.length === 0 ? "The rows have no feedback." : `The keys are ${named}${others}.`;
  for (const key of baseline.lowerIsBetter ?? []) {
    if (key !== errorKey && !keys.has(key)) {
      warn(
        `\`baseline.lowerIsBetter\` contains ${formatValue(key)}, but no feedback on the rows has this key, so it has no effect. ${existing}`,
      );
    }
  }
}

async function compareExamples(
  { client, baseline, info }: ComparisonRequest,
  exampleIds: readonly string[],
  comparison: Comparison,
): Promise<void> {
  if (exampleIds.length === 0) {
    return;
  }
  const [current, earlier] = [new Map<string, ComparedRun[]>(), new Map<string, ComparedRun[]>()];
  for (const [projectId, runs] of [
    [info.id, current],
    [baseline.project.id, earlier],
  ] as const) {
    for await (const run of listRuns(client, projectId, { exampleIds, info })) {
      const exampleId = run.referenceExampleId ?? String(run.extra?.metadata?.["example_id"]);
      runs.set(exampleId, [...(runs.get(exampleId) ?? []), run]);
    }
  }
  for (const exampleId of exampleIds) {
    comparison.addExample(exampleId, current.get(exampleId) ?? [], earlier.get(exampleId) ?? []);
  }
}

/** Maximum number of repetitions that are compared if the rows are not examples of a dataset. */
const comparedRepetitions = 10;

/** Fields that are read of each compared run. */
const comparedFields = [
  "id",
  "referenceExampleId",
  "feedbackStats",
  "error",
  "extra",
] as const satisfies readonly RunField[];

type ComparedRun = SelectedRun<(typeof comparedFields)[number]>;

/** Lists the runs of examples in an experiment. */
function listRuns(
  client: Client,
  projectId: string,
  { exampleIds, info }: { readonly exampleIds: readonly string[]; readonly info: ExperimentInfo },
): AsyncIterable<ComparedRun> {
  const filter =
    info.datasetId === undefined
      ? {
          // These rows are not examples on the server, so their runs are found by run ids, which are derived from the
          // row ids.
          ids: exampleIds.flatMap((exampleId) =>
            Array.from({ length: comparedRepetitions }, (_, index) =>
              createRunId(projectId, exampleId, index + 1),
            ),
          ),
        }
      : { referenceExampleIds: exampleIds, isRoot: true };
  return client.runs.list({
    projectIds: [projectId],
    ...filter,
    select: comparedFields,
  });
}

/** Collects the differences between an experiment and its baseline. */
class Comparison {
  /** The keys of all feedback on either experiment, including keys without an average. */
  readonly keys = new Set<string>();
  readonly #lowerIsBetter: ReadonlySet<string>;
  readonly #scores = new Map<string, ScoreDifferences>();
  readonly #regressions = new LargestChanges();
  readonly #improvements = new LargestChanges();
  #examples = 0;
  #newExamples = 0;

  constructor({ lowerIsBetter = [] }: Baseline) {
    // Fewer failures are better.
    this.#lowerIsBetter = new Set([...lowerIsBetter, errorKey]);
  }

  get examples(): number {
    return this.#examples;
  }

  addExample(
    exampleId: string,
    current: readonly ComparedRun[],
    baseline: readonly ComparedRun[],
  ): void {
    for (const { feedbackStats } of [...current, ...baseline]) {
      Object.keys(feedbackStats ?? {}).forEach((key) => this.keys.add(key));
    }
    if (baseline.length === 0) {
      this.#newExamples += 1;
      return;
    }
    this.#examples += 1;
    const [currentScores, baselineScores] = [collectScores(current), collectScores(baseline)];
    for (const [key, values] of currentScores) {
      const baselineValues = baselineScores.get(key);
      if (baselineValues !== undefined) {
        this.#addScore({ exampleId, key }, values, baselineValues);
      }
    }
  }

  result(baseline: ExperimentInfo): BaselineComparison {
    return {
      baseline,
      examples: this.#examples,
      newExamples: this.#newExamples,
      regressions: this.#regressions.list,
      improvements: this.#improvements.list,
      regressionCount: this.#regressions.count,
      improvementCount: this.#improvements.count,
      scores: Object.fromEntries(
        [...this.#scores]
          .filter(([key, differences]) => key !== errorKey || differences.isChanged)
          .map(([key, differences]) => [key, differences.summarize(this.#isHigherBetter(key))]),
      ),
    };
  }

  #addScore(
    { exampleId, key }: Pick<ScoreChange, "exampleId" | "key">,
    currentValues: readonly number[],
    baselineValues: readonly number[],
  ): void {
    const [current, baseline] = [average(currentValues), average(baselineValues)];
    const differences = this.#scores.get(key) ?? new ScoreDifferences();
    this.#scores.set(key, differences);
    const difference = current - baseline;
    const gain = this.#isHigherBetter(key) ? difference : -difference;
    differences.add({ current, baseline, gain });
    if (gain !== 0) {
      const pValue = permutationTest(currentValues, baselineValues);
      const change = { exampleId, key, baseline, current, difference };
      (gain < 0 ? this.#regressions : this.#improvements).add({
        ...change,
        ...(pValue === undefined ? {} : { pValue }),
      });
    }
  }

  #isHigherBetter(key: string): boolean {
    return !this.#lowerIsBetter.has(key);
  }
}

/**
 * Returns the scores of an example's runs by key. The key `error` contains 1 for each failed run and 0 for each other
 * run.
 */
function collectScores(runs: readonly ComparedRun[]): ReadonlyMap<string, readonly number[]> {
  const scores = new Map<string, number[]>([[errorKey, []]]);
  for (const { error, feedbackStats } of runs) {
    scores.get(errorKey)?.push(error === undefined ? 0 : 1);
    for (const { key, score } of toAverageScores(feedbackStats)) {
      scores.set(key, [...(scores.get(key) ?? []), score]);
    }
  }
  return scores;
}

const average = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

class ScoreDifferences {
  readonly #statistics = new DifferenceStatistics();
  #current = 0;
  #baseline = 0;
  #improved = 0;
  #regressed = 0;

  add({
    current,
    baseline,
    gain,
  }: {
    readonly current: number;
    readonly baseline: number;
    readonly gain: number;
  }): void {
    this.#statistics.add(current - baseline);
    this.#current += current;
    this.#baseline += baseline;
    this.#improved += gain > 0 ? 1 : 0;
    this.#regressed += gain < 0 ? 1 : 0;
  }

  get isChanged(): boolean {
    return this.#improved + this.#regressed > 0;
  }

  summarize(higherIsBetter: boolean): ScoreComparison {
    const { count, mean, interval } = this.#statistics;
    return {
      examples: count,
      baseline: this.#baseline / count,
      current: this.#current / count,
      difference: mean,
      improved: this.#improved,
      regressed: this.#regressed,
      unchanged: count - this.#improved - this.#regressed,
      pValue: signTest(this.#improved, this.#regressed),
      ...(interval && { interval }),
      higherIsBetter,
    };
  }
}

/** Keeps the changes with the largest differences. */
class LargestChanges {
  count = 0;
  #changes: ScoreChange[] = [];

  add(change: ScoreChange): void {
    this.count += 1;
    this.#changes.push(change);
    if (this.#changes.length >= 2 * maxChanges) {
      this.#changes = [...this.list];
    }
  }

  /** The changes with the largest differences, largest first; at most {@link maxChanges}. */
  get list(): readonly ScoreChange[] {
    return this.#changes
      .toSorted((left, right) => Math.abs(right.difference) - Math.abs(left.difference))
      .slice(0, maxChanges);
  }
}

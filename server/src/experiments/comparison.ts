import type {
  ComparedExample,
  Comparison,
  ComparisonOrder,
  ComparisonQuery,
  ComparisonSubset,
  ComparedExperiment,
  ExampleResult,
  ExampleScore,
  KeySummary,
} from "./experiment.ts";

/** Number of bins of the histogram of scores. */
const histogramBins = 10;
/** The rating of an example with a new error. It is lower than the rating of any score change, which is -1 to 1. */
const newErrorRating = -2;
/** The rating of an example whose error was fixed. */
const fixedErrorRating = 2;
/** Scores that differ by less are treated as equal, because means of equal scores may differ by rounding errors. */
const scoreTolerance = 1e-9;

/** Compares, for each example, the results of experiments with those of the baseline experiment. */
export function computeComparison(
  experiments: readonly ComparedExperiment[],
  query: ComparisonQuery,
): Comparison {
  const scoresByExperiment = new Map(
    experiments.map((experiment) => [experiment.id, groupByExample(experiment.scores)]),
  );
  const resultsByExperiment = new Map(
    experiments.map((experiment) => [
      experiment.id,
      new Map(experiment.results.map((result) => [result.exampleId, result])),
    ]),
  );
  const ranges = findScoreRanges(experiments);
  const keys = query.key === undefined ? [...ranges.keys()] : [query.key];
  const exampleIds = new Set(
    experiments.flatMap((experiment) => experiment.results.map((result) => result.exampleId)),
  );
  const examples = [...exampleIds].map((exampleId): ComparedExample => {
    const exampleResults = experiments.map(({ id }) => resultsByExperiment.get(id)?.get(exampleId));
    const exampleScores = new Map(
      experiments.map(({ id }) => [id, scoresByExperiment.get(id)?.get(exampleId) ?? noScores]),
    );
    const ratings = experiments
      .filter(({ id }) => id !== query.baselineId)
      .flatMap(({ id }) => [
        ...rateScoreChanges(exampleScores, { id, keys, ranges, query }),
        ...rateErrorChange(
          resultsByExperiment.get(query.baselineId)?.get(exampleId),
          resultsByExperiment.get(id)?.get(exampleId),
        ),
      ]);
    return {
      exampleId,
      firstStartMicros: Math.min(
        ...exampleResults.map((result) => result?.firstStartMicros ?? Number.MAX_SAFE_INTEGER),
      ),
      scores: exampleScores,
      hasError: exampleResults.some((result) => (result?.errorCount ?? 0) > 0),
      worstChange: Math.min(0, ...ratings),
      bestChange: Math.max(0, ...ratings),
    };
  });
  return {
    examples: examples
      .filter((example) => matchesSubset(example, query.subset))
      .toSorted(createComparator(query.order)),
    exampleCount: examples.length,
    keys: [...ranges].map(([key, range]) => ({
      key,
      ...range,
      byExperiment: new Map(
        experiments.map(({ id }) => [
          id,
          summarizeScores(examples, { experimentId: id, key, range, query }),
        ]),
      ),
    })),
  };
}

const noScores: ReadonlyMap<string, number> = new Map();

function groupByExample(
  scores: readonly ExampleScore[],
): ReadonlyMap<string, ReadonlyMap<string, number>> {
  const scoresByExample = new Map<string, Map<string, number>>();
  for (const { exampleId, key, score } of scores) {
    const scoresByKey = scoresByExample.get(exampleId) ?? new Map<string, number>();
    scoresByExample.set(exampleId, scoresByKey.set(key, score));
  }
  return scoresByExample;
}

interface ScoreRange {
  readonly min: number;
  readonly max: number;
}

/** Returns the lowest and highest score of each feedback key, ordered by key. */
function findScoreRanges(
  experiments: readonly ComparedExperiment[],
): ReadonlyMap<string, ScoreRange> {
  const ranges = new Map<string, { min: number; max: number }>();
  for (const { scores } of experiments) {
    for (const { key, score } of scores) {
      const range = ranges.get(key) ?? { min: score, max: score };
      range.min = Math.min(range.min, score);
      range.max = Math.max(range.max, score);
      ranges.set(key, range);
    }
  }
  return new Map([...ranges].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * Computes how much better an experiment's score is than the score of the baseline; `undefined` if either is missing.
 */
function computeChange(
  scores: ComparedExample["scores"],
  {
    id,
    key,
    query,
  }: { readonly id: string; readonly key: string; readonly query: ComparisonQuery },
): number | undefined {
  const baselineScore = scores.get(query.baselineId)?.get(key);
  const score = scores.get(id)?.get(key);
  if (baselineScore === undefined || score === undefined) {
    return undefined;
  }
  const change = Math.abs(score - baselineScore) < scoreTolerance ? 0 : score - baselineScore;
  return query.lowerIsBetter.has(key) && change !== 0 ? -change : change;
}

/** Rates the change of each score compared with the baseline, as a share of the range of all scores of the same key. */
function rateScoreChanges(
  scores: ComparedExample["scores"],
  {
    id,
    keys,
    ranges,
    query,
  }: {
    readonly id: string;
    readonly keys: readonly string[];
    readonly ranges: ReadonlyMap<string, ScoreRange>;
    readonly query: ComparisonQuery;
  },
): readonly number[] {
  return keys.flatMap((key) => {
    const change = computeChange(scores, { id, key, query });
    const { min, max } = ranges.get(key) ?? { min: 0, max: 0 };
    return change === undefined || max === min ? [] : [change / (max - min)];
  });
}

/**
 * Rates a change from no errors to errors, or from errors to none, compared with the baseline. Returns an empty list if
 * neither has happened.
 */
function rateErrorChange(
  baseline: ExampleResult | undefined,
  result: ExampleResult | undefined,
): readonly number[] {
  if (baseline === undefined || result === undefined) {
    return [];
  }
  if (baseline.errorCount === 0 && result.errorCount > 0) {
    return [newErrorRating];
  }
  return baseline.errorCount > 0 && result.errorCount === 0 ? [fixedErrorRating] : [];
}

const matchesSubset = (
  { worstChange, bestChange, hasError }: ComparedExample,
  subset: ComparisonSubset,
): boolean =>
  ({ all: true, regressions: worstChange < 0, improvements: bestChange > 0, errors: hasError })[
    subset
  ];

/**
 * Creates a function that compares two examples for sorting. Examples with equal ratings are ordered by the start of
 * their first run.
 */
const createComparator =
  (order: ComparisonOrder) =>
  (a: ComparedExample, b: ComparedExample): number => {
    const primary = {
      regression: a.worstChange - b.worstChange,
      improvement: b.bestChange - a.bestChange,
      run: 0,
    };
    return (
      primary[order] ||
      a.firstStartMicros - b.firstStartMicros ||
      (a.exampleId < b.exampleId ? -1 : 1)
    );
  };

/** Computes the statistics of one experiment's scores with one feedback key. */
function summarizeScores(
  examples: readonly ComparedExample[],
  {
    experimentId,
    key,
    range: { min, max },
    query,
  }: {
    readonly experimentId: string;
    readonly key: string;
    readonly range: ScoreRange;
    readonly query: ComparisonQuery;
  },
): KeySummary {
  const bins = Array.from({ length: histogramBins }, () => 0);
  const changeCounts = { better: 0, worse: 0, same: 0 };
  let [count, sum] = [0, 0];
  for (const { scores } of examples) {
    const score = scores.get(experimentId)?.get(key);
    if (score !== undefined) {
      count += 1;
      sum += score;
      const position = max === min ? 0 : Math.floor(((score - min) / (max - min)) * histogramBins);
      const bin = Math.min(histogramBins - 1, position);
      bins[bin] = (bins[bin] ?? 0) + 1;
    }
    const change =
      experimentId === query.baselineId
        ? undefined
        : computeChange(scores, { id: experimentId, key, query });
    if (change !== undefined) {
      const sign = Math.sign(change);
      changeCounts.better += sign > 0 ? 1 : 0;
      changeCounts.worse += sign < 0 ? 1 : 0;
      changeCounts.same += sign === 0 ? 1 : 0;
    }
  }
  return { mean: count === 0 ? null : sum / count, count, ...changeCounts, bins };
}

import type {
  ComparedExample,
  Comparison,
  ComparisonOrder,
  ComparisonQuery,
  ComparisonSubset,
  ComparedExperiment,
  ExampleOutcome,
  ExampleScore,
  KeySummary,
} from "./experiment.ts";

const histogramBins = 10;
/** The rating of an example with a new error. It is lower than any change of a score, which is between -1 and 1. */
const newErrorRating = -2;
/** The rating of an example whose error was fixed. */
const fixedErrorRating = 2;
/** Differences up to this count as none: means of equal scores may differ by rounding errors. */
const scoreTolerance = 1e-9;

/** Joins the results of experiments by example, and compares them with those of the baseline. */
export function compare(
  experiments: readonly ComparedExperiment[],
  query: ComparisonQuery,
): Comparison {
  const scores = new Map(
    experiments.map((experiment) => [experiment.id, groupByExample(experiment.scores)]),
  );
  const outcomesByExperiment = new Map(
    experiments.map((experiment) => [
      experiment.id,
      new Map(experiment.outcomes.map((outcome) => [outcome.exampleId, outcome])),
    ]),
  );
  const ranges = findScoreRanges(experiments);
  const keys = query.key === undefined ? [...ranges.keys()] : [query.key];
  const ids = new Set(
    experiments.flatMap((experiment) => experiment.outcomes.map((outcome) => outcome.exampleId)),
  );
  const examples = [...ids].map((exampleId): ComparedExample => {
    const exampleOutcomes = experiments.map(({ id }) =>
      outcomesByExperiment.get(id)?.get(exampleId),
    );
    const exampleScores = new Map(
      experiments.map(({ id }) => [id, scores.get(id)?.get(exampleId) ?? noScores]),
    );
    const changes = experiments
      .filter(({ id }) => id !== query.baselineId)
      .flatMap(({ id }) => [
        ...rateScoreChanges(exampleScores, { id, keys, ranges, query }),
        ...rateErrorChange(
          outcomesByExperiment.get(query.baselineId)?.get(exampleId),
          outcomesByExperiment.get(id)?.get(exampleId),
        ),
      ]);
    return {
      exampleId,
      startMicros: Math.min(
        ...exampleOutcomes.map((outcome) => outcome?.firstStartMicros ?? Number.MAX_SAFE_INTEGER),
      ),
      scores: exampleScores,
      hasError: exampleOutcomes.some((outcome) => (outcome?.errorCount ?? 0) > 0),
      worst: Math.min(0, ...changes),
      best: Math.max(0, ...changes),
    };
  });
  return {
    examples: examples
      .filter((example) => matchesSubset(example, query.only))
      .toSorted(createComparator(query.order)),
    total: examples.length,
    keys: [...ranges].map(([key, range]) => ({
      key,
      ...range,
      byExperiment: new Map(
        experiments.map(({ id }) => [id, summarize(examples, { id, key, range, query })]),
      ),
    })),
  };
}

const noScores: ReadonlyMap<string, number> = new Map();

function groupByExample(
  scores: readonly ExampleScore[],
): ReadonlyMap<string, ReadonlyMap<string, number>> {
  const found = new Map<string, Map<string, number>>();
  for (const { exampleId, key, score } of scores) {
    const scoresByKey = found.get(exampleId) ?? new Map<string, number>();
    found.set(exampleId, scoresByKey.set(key, score));
  }
  return found;
}

interface ScoreRange {
  readonly min: number;
  readonly max: number;
}

/** Returns the lowest and highest score of each key, ordered by key. */
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

/** Returns how much better a score is than the baseline's; `undefined` if one of the two is missing. */
function toChange(
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
    const change = toChange(scores, { id, key, query });
    const { min, max } = ranges.get(key) ?? { min: 0, max: 0 };
    return change === undefined || max === min ? [] : [change / (max - min)];
  });
}

/**
 * Returns the rating of an error that is new or fixed compared with the baseline; an empty list if neither is the
 * case.
 */
function rateErrorChange(
  baseline: ExampleOutcome | undefined,
  outcome: ExampleOutcome | undefined,
): readonly number[] {
  if (baseline === undefined || outcome === undefined) {
    return [];
  }
  if (baseline.errorCount === 0 && outcome.errorCount > 0) {
    return [newErrorRating];
  }
  return baseline.errorCount > 0 && outcome.errorCount === 0 ? [fixedErrorRating] : [];
}

const matchesSubset = (
  { worst, best, hasError }: ComparedExample,
  only: ComparisonSubset,
): boolean =>
  ({ all: true, regressions: worst < 0, improvements: best > 0, errors: hasError })[only];

/**
 * Creates the comparison of two examples by the requested order. Examples that are equal in it are ordered by start
 * time.
 */
const createComparator =
  (order: ComparisonOrder) =>
  (a: ComparedExample, b: ComparedExample): number => {
    const primary = {
      regression: a.worst - b.worst,
      improvement: b.best - a.best,
      run: 0,
    };
    return primary[order] || a.startMicros - b.startMicros || (a.exampleId < b.exampleId ? -1 : 1);
  };

function summarize(
  examples: readonly ComparedExample[],
  {
    id,
    key,
    range: { min, max },
    query,
  }: {
    readonly id: string;
    readonly key: string;
    readonly range: ScoreRange;
    readonly query: ComparisonQuery;
  },
): KeySummary {
  const bins = Array.from({ length: histogramBins }, () => 0);
  const changeCounts = { better: 0, worse: 0, same: 0 };
  let [count, sum] = [0, 0];
  for (const { scores } of examples) {
    const score = scores.get(id)?.get(key);
    if (score !== undefined) {
      count += 1;
      sum += score;
      const position = max === min ? 0 : Math.floor(((score - min) / (max - min)) * histogramBins);
      const bin = Math.min(histogramBins - 1, position);
      bins[bin] = (bins[bin] ?? 0) + 1;
    }
    const change = id === query.baselineId ? undefined : toChange(scores, { id, key, query });
    if (change !== undefined) {
      const sign = Math.sign(change);
      changeCounts.better += sign > 0 ? 1 : 0;
      changeCounts.worse += sign < 0 ? 1 : 0;
      changeCounts.same += sign === 0 ? 1 : 0;
    }
  }
  return { mean: count === 0 ? null : sum / count, count, ...changeCounts, bins };
}

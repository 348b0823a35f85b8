import type {
  ComparedExample,
  ComparedExperiment,
  ComparedKey,
  Comparison,
  ComparisonOrder,
  ComparisonQuery,
  ComparisonSubset,
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
/** The position in {@link AlignedExperiment} that means that the experiment has no results on the example. */
const noRow = -1;

/** Compares, for each example, the results of experiments with those of the baseline experiment. */
export function computeComparison(
  experiments: readonly ComparedExperiment[],
  query: ComparisonQuery,
): Comparison {
  const { exampleIds, rows } = alignExamples(experiments);
  const ranges = findScoreRanges(experiments);
  const aligned = experiments.map((experiment, index): AlignedExperiment => ({
    experiment,
    rows: rows[index] ?? new Int32Array(),
  }));
  const baseline = aligned.find(({ experiment }) => experiment.id === query.baselineId);
  const rated = rateExamples({ aligned, baseline, exampleCount: exampleIds.length, ranges, query });
  const matching = rankExamples(exampleIds, rated, query);
  return {
    exampleCount: exampleIds.length,
    matchingCount: matching.length,
    keys: [...ranges].map(([key, range]) => ({
      key,
      ...range,
      byExperiment: new Map(
        aligned.map((alignedExperiment) => [
          alignedExperiment.experiment.id,
          summarizeScores(alignedExperiment, {
            baseline,
            exampleCount: exampleIds.length,
            key,
            range,
            query,
          }),
        ]),
      ),
    })),
    readPage: (offset, limit) =>
      matching
        .slice(offset, offset + limit)
        .map((index) => toComparedExample(index, { exampleIds, aligned, rated })),
  };
}

/**
 * An experiment, and for each of the compared examples the position of the example's results in the lists of the
 * experiment; {@link noRow} if there are none.
 */
interface AlignedExperiment {
  readonly experiment: ComparedExperiment;
  readonly rows: Int32Array;
}

/** Finds the examples of all experiments, and the positions of the results on them in each experiment. */
function alignExamples(experiments: readonly ComparedExperiment[]): {
  readonly exampleIds: readonly string[];
  readonly rows: readonly Int32Array[];
} {
  const indexes = new Map<string, number>();
  for (const { exampleIds } of experiments) {
    for (const id of exampleIds) {
      if (!indexes.has(id)) {
        indexes.set(id, indexes.size);
      }
    }
  }
  const rows = experiments.map(({ exampleIds }) => {
    const aligned = new Int32Array(indexes.size).fill(noRow);
    exampleIds.forEach((id, row) => {
      aligned[indexes.get(id) ?? 0] = row;
    });
    return aligned;
  });
  return { exampleIds: [...indexes.keys()], rows };
}

type ScoreRange = Pick<ComparedKey, "min" | "max">;

/** Returns the lowest and highest score of each feedback key, ordered by key. */
function findScoreRanges(
  experiments: readonly ComparedExperiment[],
): ReadonlyMap<string, ScoreRange> {
  const ranges = new Map<string, { min: number; max: number }>();
  for (const { scores } of experiments) {
    for (const [key, values] of scores) {
      const range = ranges.get(key) ?? {
        min: Number.POSITIVE_INFINITY,
        max: Number.NEGATIVE_INFINITY,
      };
      for (const score of values) {
        // NaN stands for a missing score. `<` and `>` are false for it, so it does not change the range.
        range.min = score < range.min ? score : range.min;
        range.max = score > range.max ? score : range.max;
      }
      ranges.set(key, range);
    }
  }
  return new Map(
    [...ranges].filter(([, { min, max }]) => min <= max).toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
}

/** How each example has changed compared with the baseline. The index in each list is the position of the example. */
interface RatedExamples {
  readonly worst: Float64Array;
  readonly best: Float64Array;
  readonly firstStarts: Float64Array;
  readonly hasError: Uint8Array;
}

interface RatingInput {
  readonly aligned: readonly AlignedExperiment[];
  readonly baseline: AlignedExperiment | undefined;
  readonly exampleCount: number;
  readonly ranges: ReadonlyMap<string, ScoreRange>;
  readonly query: ComparisonQuery;
}

/**
 * Rates each example against the baseline: by the change of each of its scores, as a share of the range of all scores
 * with the same key, and by whether an error is new or was fixed.
 */
function rateExamples({
  aligned,
  baseline,
  exampleCount,
  ranges,
  query,
}: RatingInput): RatedExamples {
  const rated: RatedExamples = {
    worst: new Float64Array(exampleCount),
    best: new Float64Array(exampleCount),
    firstStarts: new Float64Array(exampleCount).fill(Number.MAX_SAFE_INTEGER),
    hasError: new Uint8Array(exampleCount),
  };
  for (const { experiment, rows } of aligned) {
    rows.forEach((row, index) => {
      if (row !== noRow) {
        const start = experiment.firstStartMicros[row] ?? Number.MAX_SAFE_INTEGER;
        rated.firstStarts[index] = Math.min(rated.firstStarts[index] ?? start, start);
        rated.hasError[index] ||= Number((experiment.errorCounts[row] ?? 0) > 0);
      }
    });
  }
  const others = aligned.filter((alignedExperiment) => alignedExperiment !== baseline);
  for (const other of baseline === undefined ? [] : others) {
    rateErrors(rated, baseline as AlignedExperiment, other);
    for (const [key, { min, max }] of ranges) {
      if (max > min && (query.key === undefined || query.key === key)) {
        forEachChange({ baseline, other, exampleCount, key, query }, (index, change) =>
          addRating(rated, index, change / (max - min)),
        );
      }
    }
  }
  return rated;
}

function addRating({ worst, best }: RatedExamples, index: number, rating: number): void {
  worst[index] = Math.min(worst[index] ?? 0, rating);
  best[index] = Math.max(best[index] ?? 0, rating);
}

/** Rates the examples that fail but did not fail in the baseline, and the examples that no longer fail. */
function rateErrors(
  rated: RatedExamples,
  baseline: AlignedExperiment,
  other: AlignedExperiment,
): void {
  baseline.rows.forEach((baselineRow, index) => {
    const row = other.rows[index] ?? noRow;
    if (baselineRow === noRow || row === noRow) {
      return;
    }
    const hadError = (baseline.experiment.errorCounts[baselineRow] ?? 0) > 0;
    const hasError = (other.experiment.errorCounts[row] ?? 0) > 0;
    if (hadError !== hasError) {
      addRating(rated, index, hasError ? newErrorRating : fixedErrorRating);
    }
  });
}

interface ScorePairs {
  readonly baseline: AlignedExperiment | undefined;
  readonly other: AlignedExperiment;
  readonly exampleCount: number;
  readonly key: string;
  readonly query: ComparisonQuery;
}

/**
 * Calls a function for each example for which an experiment and the baseline both have a score. The function receives
 * the position of the example, and how much better the experiment's score is.
 */
function forEachChange(
  { baseline, other, exampleCount, key, query }: ScorePairs,
  onChange: (index: number, change: number) => void,
): void {
  const baselineScores = baseline?.experiment.scores.get(key);
  const scores = other.experiment.scores.get(key);
  if (baseline === undefined || baselineScores === undefined || scores === undefined) {
    return;
  }
  const sign = query.lowerIsBetter.has(key) ? -1 : 1;
  for (let index = 0; index < exampleCount; index += 1) {
    // The position -1 of an absent result selects no score.
    const baselineScore = baselineScores[baseline.rows[index] ?? noRow] ?? Number.NaN;
    const otherScore = scores[other.rows[index] ?? noRow] ?? Number.NaN;
    if (!Number.isNaN(baselineScore) && !Number.isNaN(otherScore)) {
      const difference = otherScore - baselineScore;
      onChange(index, Math.abs(difference) < scoreTolerance ? 0 : difference * sign);
    }
  }
}

/** Returns the positions of the examples of the requested subset, in the requested order. */
function rankExamples(
  exampleIds: readonly string[],
  rated: RatedExamples,
  { subset, order }: ComparisonQuery,
): readonly number[] {
  const isMatching = createSubsetCheck(rated, subset);
  const indexes = Array.from(exampleIds, (_id, index) => index).filter(isMatching);
  const toRating = createOrder(rated, order);
  // Examples with equal ratings are ordered by the start of their first run.
  return indexes.toSorted(
    (a, b) =>
      toRating(a) - toRating(b) ||
      (rated.firstStarts[a] ?? 0) - (rated.firstStarts[b] ?? 0) ||
      ((exampleIds[a] ?? "") < (exampleIds[b] ?? "") ? -1 : 1),
  );
}

function createSubsetCheck(
  { worst, best, hasError }: RatedExamples,
  subset: ComparisonSubset,
): (index: number) => boolean {
  switch (subset) {
    case "all":
      return () => true;
    case "regressions":
      return (index) => (worst[index] ?? 0) < 0;
    case "improvements":
      return (index) => (best[index] ?? 0) > 0;
    case "errors":
      return (index) => hasError[index] === 1;
  }
}

/** Creates a function that returns the sort key of an example. Lower keys come first. */
function createOrder(
  { worst, best }: RatedExamples,
  order: ComparisonOrder,
): (index: number) => number {
  switch (order) {
    case "regression":
      return (index) => worst[index] ?? 0;
    case "improvement":
      return (index) => -(best[index] ?? 0);
    case "run":
      return () => 0;
  }
}

function toComparedExample(
  index: number,
  {
    exampleIds,
    aligned,
    rated,
  }: {
    readonly exampleIds: readonly string[];
    readonly aligned: readonly AlignedExperiment[];
    readonly rated: RatedExamples;
  },
): ComparedExample {
  return {
    exampleId: exampleIds[index] ?? "",
    firstStartMicros: rated.firstStarts[index] ?? 0,
    scores: new Map(
      aligned.map(({ experiment, rows }) => [
        experiment.id,
        new Map(
          [...experiment.scores].flatMap(([key, values]) => {
            const score = values[rows[index] ?? noRow] ?? Number.NaN;
            return Number.isNaN(score) ? [] : [[key, score] as const];
          }),
        ),
      ]),
    ),
    hasError: rated.hasError[index] === 1,
    worstChange: rated.worst[index] ?? 0,
    bestChange: rated.best[index] ?? 0,
  };
}

/** Computes the statistics of one experiment's scores with one feedback key. */
function summarizeScores(
  other: AlignedExperiment,
  {
    range: { min, max },
    ...comparison
  }: Omit<ScorePairs, "other"> & { readonly range: ScoreRange },
): KeySummary {
  const bins = Array.from({ length: histogramBins }, () => 0);
  let [count, sum] = [0, 0];
  for (const score of other.experiment.scores.get(comparison.key) ?? []) {
    if (!Number.isNaN(score)) {
      count += 1;
      sum += score;
      const position = max === min ? 0 : Math.floor(((score - min) / (max - min)) * histogramBins);
      const bin = Math.min(histogramBins - 1, position);
      bins[bin] = (bins[bin] ?? 0) + 1;
    }
  }
  const changeCounts = { better: 0, worse: 0, same: 0 };
  if (other !== comparison.baseline) {
    forEachChange({ ...comparison, other }, (_index, change) => {
      changeCounts.better += change > 0 ? 1 : 0;
      changeCounts.worse += change < 0 ? 1 : 0;
      changeCounts.same += change === 0 ? 1 : 0;
    });
  }
  return { mean: count === 0 ? null : sum / count, count, ...changeCounts, bins };
}

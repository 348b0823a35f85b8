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

const binsPerKey = 10;
/** Rates a new error worse than any change of a score, which is between -1 and 1. */
const newError = -2;
const fixedError = 2;
/** Means of equal scores may differ by rounding errors. */
const tolerance = 1e-9;

/** Joins experiments by example and compares them with the baseline. */
export function compare(
  experiments: readonly ComparedExperiment[],
  query: ComparisonQuery,
): Comparison {
  const scores = new Map(
    experiments.map((experiment) => [experiment.id, byExample(experiment.scores)]),
  );
  const outcomes = new Map(
    experiments.map((experiment) => [
      experiment.id,
      new Map(experiment.outcomes.map((outcome) => [outcome.exampleId, outcome])),
    ]),
  );
  const spans = findSpans(experiments);
  const keys = query.key === undefined ? [...spans.keys()] : [query.key];
  const ids = new Set(
    experiments.flatMap((experiment) => experiment.outcomes.map((outcome) => outcome.exampleId)),
  );
  const examples = [...ids].map((exampleId): ComparedExample => {
    const exampleOutcomes = experiments.map(({ id }) => outcomes.get(id)?.get(exampleId));
    const exampleScores = new Map(
      experiments.map(({ id }) => [id, scores.get(id)?.get(exampleId) ?? noScores]),
    );
    const changes = experiments
      .filter(({ id }) => id !== query.baselineId)
      .flatMap(({ id }) => [
        ...scoreChanges(exampleScores, { id, keys, spans, query }),
        ...errorChange(
          outcomes.get(query.baselineId)?.get(exampleId),
          outcomes.get(id)?.get(exampleId),
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
    keys: [...spans].map(([key, span]) => ({
      key,
      ...span,
      byExperiment: new Map(
        experiments.map(({ id }) => [id, summarize(examples, { id, key, span, query })]),
      ),
    })),
  };
}

const noScores: ReadonlyMap<string, number> = new Map();

function byExample(
  scores: readonly ExampleScore[],
): ReadonlyMap<string, ReadonlyMap<string, number>> {
  const found = new Map<string, Map<string, number>>();
  for (const { exampleId, key, score } of scores) {
    const scoresByKey = found.get(exampleId) ?? new Map<string, number>();
    found.set(exampleId, scoresByKey.set(key, score));
  }
  return found;
}

interface Span {
  readonly min: number;
  readonly max: number;
}

/** The lowest and highest score of each key, ordered by key. */
function findSpans(experiments: readonly ComparedExperiment[]): ReadonlyMap<string, Span> {
  const spans = new Map<string, { min: number; max: number }>();
  for (const { scores } of experiments) {
    for (const { key, score } of scores) {
      const span = spans.get(key) ?? { min: score, max: score };
      span.min = Math.min(span.min, score);
      span.max = Math.max(span.max, score);
      spans.set(key, span);
    }
  }
  return new Map([...spans].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** How much better a score is than the baseline's; `undefined` if one of them is missing. */
function toChange(
  scores: ComparedExample["scores"],
  {
    id,
    key,
    query,
  }: { readonly id: string; readonly key: string; readonly query: ComparisonQuery },
): number | undefined {
  const before = scores.get(query.baselineId)?.get(key);
  const after = scores.get(id)?.get(key);
  if (before === undefined || after === undefined) {
    return undefined;
  }
  const change = Math.abs(after - before) < tolerance ? 0 : after - before;
  return query.lowerIsBetter.has(key) && change !== 0 ? -change : change;
}

function scoreChanges(
  scores: ComparedExample["scores"],
  {
    id,
    keys,
    spans,
    query,
  }: {
    readonly id: string;
    readonly keys: readonly string[];
    readonly spans: ReadonlyMap<string, Span>;
    readonly query: ComparisonQuery;
  },
): readonly number[] {
  return keys.flatMap((key) => {
    const change = toChange(scores, { id, key, query });
    const { min, max } = spans.get(key) ?? { min: 0, max: 0 };
    return change === undefined || max === min ? [] : [change / (max - min)];
  });
}

/** The change if an error is new or fixed compared with the baseline. */
function errorChange(
  before: ExampleOutcome | undefined,
  after: ExampleOutcome | undefined,
): readonly number[] {
  if (before === undefined || after === undefined) {
    return [];
  }
  if (before.errorCount === 0 && after.errorCount > 0) {
    return [newError];
  }
  return before.errorCount > 0 && after.errorCount === 0 ? [fixedError] : [];
}

const matchesSubset = (
  { worst, best, hasError }: ComparedExample,
  only: ComparisonSubset,
): boolean =>
  ({ all: true, regressions: worst < 0, improvements: best > 0, errors: hasError })[only];

/** Compares by the requested order; ties are ordered by start time. */
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
    span: { min, max },
    query,
  }: {
    readonly id: string;
    readonly key: string;
    readonly span: Span;
    readonly query: ComparisonQuery;
  },
): KeySummary {
  const bins = Array.from({ length: binsPerKey }, () => 0);
  const counts = { better: 0, worse: 0, same: 0 };
  let [count, sum] = [0, 0];
  for (const { scores } of examples) {
    const score = scores.get(id)?.get(key);
    if (score !== undefined) {
      count += 1;
      sum += score;
      const position = max === min ? 0 : Math.floor(((score - min) / (max - min)) * binsPerKey);
      const bin = Math.min(binsPerKey - 1, position);
      bins[bin] = (bins[bin] ?? 0) + 1;
    }
    const change = id === query.baselineId ? undefined : toChange(scores, { id, key, query });
    if (change !== undefined) {
      const sign = Math.sign(change);
      counts.better += sign > 0 ? 1 : 0;
      counts.worse += sign < 0 ? 1 : 0;
      counts.same += sign === 0 ? 1 : 0;
    }
  }
  return { mean: count === 0 ? null : sum / count, count, ...counts, bins };
}

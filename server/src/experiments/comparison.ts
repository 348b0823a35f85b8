import type {
  ComparedExample,
  Comparison,
  ComparisonOrder,
  ComparisonQuery,
  ComparisonSubset,
  Contestant,
  ExampleOutcome,
  ExampleScore,
  KeySummary,
} from "./experiment.ts";

const binCount = 10;
/** Worse than any change of a score. */
const newError = -2;
const fixedError = 2;
/** Means of equal scores may differ in their last digit. */
const tolerance = 1e-9;

/** Joins experiments by example and holds them against one of them. */
export function compare(contestants: readonly Contestant[], query: ComparisonQuery): Comparison {
  const scores = new Map(contestants.map(({ id, scores: own }) => [id, byExample(own)]));
  const outcomes = new Map(
    contestants.map(({ id, outcomes: own }) => [
      id,
      new Map(own.map((one) => [one.exampleId, one])),
    ]),
  );
  const spans = findSpans(contestants);
  const keys = query.key === undefined ? [...spans.keys()] : [query.key];
  const ids = new Set(contestants.flatMap(({ outcomes: own }) => own.map((one) => one.exampleId)));
  const examples = [...ids].map((exampleId): ComparedExample => {
    const own = contestants.map(({ id }) => outcomes.get(id)?.get(exampleId));
    const ofExample = new Map(
      contestants.map(({ id }) => [id, scores.get(id)?.get(exampleId) ?? noScores]),
    );
    const changes = contestants
      .filter(({ id }) => id !== query.baselineId)
      .flatMap(({ id }) => [
        ...scoreChanges(ofExample, { id, keys, spans, query }),
        ...errorChange(
          outcomes.get(query.baselineId)?.get(exampleId),
          outcomes.get(id)?.get(exampleId),
        ),
      ]);
    return {
      exampleId,
      startMicros: Math.min(...own.map((one) => one?.firstStartMicros ?? Number.MAX_SAFE_INTEGER)),
      scores: ofExample,
      hasError: own.some((one) => (one?.errorCount ?? 0) > 0),
      worst: Math.min(0, ...changes),
      best: Math.max(0, ...changes),
    };
  });
  return {
    examples: examples.filter((one) => isIn(one, query.only)).toSorted(inOrder(query.order)),
    total: examples.length,
    keys: [...spans].map(([key, span]) => ({
      key,
      ...span,
      byContestant: new Map(
        contestants.map(({ id }) => [id, summarize(examples, { id, key, span, query })]),
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
    const own = found.get(exampleId) ?? new Map<string, number>();
    found.set(exampleId, own.set(key, score));
  }
  return found;
}

interface Span {
  readonly min: number;
  readonly max: number;
}

/** By key, in the order of their names: from the least score to the greatest. */
function findSpans(contestants: readonly Contestant[]): ReadonlyMap<string, Span> {
  const spans = new Map<string, { min: number; max: number }>();
  for (const { scores } of contestants) {
    for (const { key, score } of scores) {
      const span = spans.get(key) ?? { min: score, max: score };
      span.min = Math.min(span.min, score);
      span.max = Math.max(span.max, score);
      spans.set(key, span);
    }
  }
  return new Map([...spans].toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

/** How much better a score is than the baseline's, as a share of the key's span; `undefined`: one is missing. */
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

/** An error where the baseline has none, or none where it has only errors. */
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

const isIn = ({ worst, best, hasError }: ComparedExample, only: ComparisonSubset): boolean =>
  ({ all: true, regressions: worst < 0, improvements: best > 0, errors: hasError })[only];

/** Ties stand in the order in which they were run. */
const inOrder =
  (order: ComparisonOrder) =>
  (one: ComparedExample, other: ComparedExample): number => {
    const first = {
      regression: one.worst - other.worst,
      improvement: other.best - one.best,
      run: 0,
    };
    return (
      first[order] ||
      one.startMicros - other.startMicros ||
      (one.exampleId < other.exampleId ? -1 : 1)
    );
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
  const bins = Array.from({ length: binCount }, () => 0);
  const counts = { better: 0, worse: 0, same: 0 };
  let [count, sum] = [0, 0];
  for (const { scores } of examples) {
    const score = scores.get(id)?.get(key);
    if (score !== undefined) {
      count += 1;
      sum += score;
      const place = max === min ? 0 : Math.floor(((score - min) / (max - min)) * binCount);
      const bin = Math.min(binCount - 1, place);
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

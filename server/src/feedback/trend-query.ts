/** One judgement, as charts take it. */
export interface FeedbackPoint {
  readonly key: string;
  readonly atMicros: number;
  readonly score: number | null;
  /** As a text; `null` without a value that can be counted. */
  readonly value: string | null;
}

export interface TrendQuery {
  readonly projectId: string;
  /** At or after. */
  readonly fromMicros: number;
  /** Before. */
  readonly toMicros: number;
  /** Judgements of the tenant that are looked at, the newest first. */
  readonly limit: number;
}

export interface FeedbackTrendReads {
  /** Of a project and of its runs, the newest first; incomplete where the limit was reached. */
  read(
    tenantId: string,
    query: TrendQuery,
  ): { readonly points: readonly FeedbackPoint[]; readonly isComplete: boolean };
}

/** What the judgements of one key come to, within a stretch of time. */
export interface FeedbackBucket {
  readonly n: number;
  /** Of the scores; `null` where there is none. */
  readonly mean: number | null;
  readonly p10: number | null;
  readonly p90: number | null;
  /** How often each of the listed values was given. */
  readonly values: Readonly<Record<string, number>>;
}

export interface FeedbackTrend {
  /** How often each key was given, the most frequent first. */
  readonly keys: readonly {
    readonly key: string;
    readonly n: number;
    readonly mean: number | null;
  }[];
  /** Of the key asked for: one for each stretch, from the first on. */
  readonly buckets: readonly FeedbackBucket[];
  /** Of its scores: from the lowest to the highest, in equal steps. */
  readonly histogram: readonly { readonly from: number; readonly to: number; readonly n: number }[];
  /** The most frequent of its values. */
  readonly values: readonly string[];
}

/** Values that have a colour of their own; of those beyond, there are too many for a chart. */
const valuesMax = 8;
const stepsMax = 10;

interface Stretch {
  readonly key: string;
  readonly fromMicros: number;
  readonly toMicros: number;
  readonly count: number;
}

/** Sorts points into buckets. */
export function toTrend(
  points: readonly FeedbackPoint[],
  { key, fromMicros, toMicros, count }: Stretch,
): FeedbackTrend {
  const own = points.filter((point) => point.key === key);
  const values = topValues(own);
  const sorted: FeedbackPoint[][] = Array.from({ length: count }, () => []);
  const stepMicros = (toMicros - fromMicros) / count;
  for (const point of own) {
    sorted[Math.min(count - 1, Math.floor((point.atMicros - fromMicros) / stepMicros))]?.push(
      point,
    );
  }
  return {
    keys: countKeys(points),
    buckets: sorted.map((bucket) => toBucket(bucket, values)),
    histogram: toHistogram(scoresOf(own)),
    values,
  };
}

const scoresOf = (points: readonly FeedbackPoint[]): readonly number[] =>
  points.flatMap(({ score }) => (score === null ? [] : [score])).toSorted((a, b) => a - b);

const meanOf = (scores: readonly number[]): number | null =>
  scores.length === 0 ? null : scores.reduce((sum, score) => sum + score, 0) / scores.length;

function countKeys(points: readonly FeedbackPoint[]): FeedbackTrend["keys"] {
  const byKey = new Map<string, FeedbackPoint[]>();
  for (const point of points) {
    const known = byKey.get(point.key) ?? [];
    byKey.set(point.key, known);
    known.push(point);
  }
  return [...byKey]
    .map(([key, all]) => ({ key, n: all.length, mean: meanOf(scoresOf(all)) }))
    .toSorted((one, other) => other.n - one.n || (one.key < other.key ? -1 : 1));
}

function countValues(points: readonly FeedbackPoint[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { value } of points) {
    if (value !== null) {
      counts.set(value, (counts.get(value) ?? 0) + 1);
    }
  }
  return counts;
}

const topValues = (points: readonly FeedbackPoint[]): readonly string[] =>
  [...countValues(points)]
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, valuesMax)
    .map(([value]) => value);

function toBucket(points: readonly FeedbackPoint[], values: readonly string[]): FeedbackBucket {
  const scores = scoresOf(points);
  const counts = countValues(points);
  const quantile = (share: number): number | null =>
    scores[Math.max(0, Math.ceil(scores.length * share) - 1)] ?? null;
  return {
    n: points.length,
    mean: meanOf(scores),
    p10: quantile(0.1),
    p90: quantile(0.9),
    values: Object.fromEntries(
      values.flatMap((value) => {
        const n = counts.get(value);
        return n === undefined ? [] : [[value, n] as const];
      }),
    ),
  };
}

function toHistogram(scores: readonly number[]): FeedbackTrend["histogram"] {
  const [low = 0] = scores;
  const high = scores.at(-1) ?? 0;
  if (scores.length === 0) {
    return [];
  }
  const distinct = new Set(scores);
  if (distinct.size <= stepsMax) {
    return [...distinct].map((score) => ({
      from: score,
      to: score,
      n: scores.filter((one) => one === score).length,
    }));
  }
  const step = (high - low) / stepsMax;
  return Array.from({ length: stepsMax }, (_, index) => {
    const from = low + step * index;
    const to = index === stepsMax - 1 ? high : low + step * (index + 1);
    const isWithin = (score: number): boolean =>
      score >= from && (index === stepsMax - 1 ? score <= to : score < to);
    return { from, to, n: scores.filter(isWithin).length };
  });
}

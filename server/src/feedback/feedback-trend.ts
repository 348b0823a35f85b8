import type { Database } from "../storage/query.ts";
import { feedbackQueries } from "./feedback-queries.ts";
import { parseCategory } from "./feedback-stats.ts";

/** One item of feedback, with the fields that charts use. */
export interface FeedbackPoint {
  readonly key: string;
  readonly atMicros: number;
  readonly score: number | null;
  /** The value as a string; `null` if there is no value or the value is not a category. */
  readonly value: string | null;
}

/** Selects the feedback of a project in a time range. */
export interface TrendQuery {
  readonly projectId: string;
  /** Start of the time range, included. */
  readonly fromMicros: number;
  /** End of the time range, not included. */
  readonly toMicros: number;
  /** Maximum number of the tenant's feedback items to read, the newest first. */
  readonly limit: number;
}

/** The part of the store that reads feedback for trends. */
export interface FeedbackTrendReads {
  /**
   * Reads feedback on a project and on its runs, the newest first. `isComplete` is false if the limit was reached.
   */
  read(
    tenantId: string,
    query: TrendQuery,
  ): Promise<{ readonly points: readonly FeedbackPoint[]; readonly isComplete: boolean }>;
}

/** Reads feedback for charts. */
export class FeedbackTrendReader implements FeedbackTrendReads {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async read(tenantId: string, query: TrendQuery) {
    const rows = await this.#db.all(feedbackQueries.trend, { tenantId, ...query });
    const points = rows
      .filter((row) => row.is_of_project === 1)
      .map((row): FeedbackPoint => ({
        key: String(JSON.parse(row.key_json)),
        atMicros: row.created_us,
        score: row.score,
        value: parseCategory(row.category) ?? null,
      }));
    return { points, isComplete: rows.length < query.limit };
  }
}

/** Statistics of one key's feedback within one time interval. */
export interface FeedbackBucket {
  /** Number of feedback items. */
  readonly n: number;
  /** Mean of the scores; `null` if there are no scores. */
  readonly mean: number | null;
  readonly p10: number | null;
  readonly p90: number | null;
  /** How often each of the most frequent values occurs. */
  readonly values: Readonly<Record<string, number>>;
}

/** How the feedback of a project developed over time. */
export interface FeedbackTrend {
  /** How often each key occurs, the most frequent first. */
  readonly keys: readonly {
    readonly key: string;
    readonly n: number;
    readonly mean: number | null;
  }[];
  /** Statistics of the requested key, one item per time interval, in order of time. */
  readonly buckets: readonly FeedbackBucket[];
  /**
   * Histogram of the key's scores. If there are at most ten different scores, each has a step of its own, whose `from`
   * and `to` are equal. Otherwise ten equal steps lead from the lowest to the highest score: a step has `n` scores from
   * `from` up to, but not including, `to`; the last step includes it.
   */
  readonly histogram: readonly { readonly from: number; readonly to: number; readonly n: number }[];
  /** The most frequent values of the key. */
  readonly values: readonly string[];
}

/** Maximum number of values that a chart shows, each in a color of its own. */
const maxValues = 8;
const maxHistogramSteps = 10;

interface TrendRange {
  readonly key: string;
  readonly fromMicros: number;
  readonly toMicros: number;
  readonly count: number;
}

/** Computes the statistics of a chart from feedback. */
export function toTrend(
  points: readonly FeedbackPoint[],
  { key, fromMicros, toMicros, count }: TrendRange,
): FeedbackTrend {
  const pointsOfKey = points.filter((point) => point.key === key);
  const values = findTopValues(pointsOfKey);
  const buckets: FeedbackPoint[][] = Array.from({ length: count }, () => []);
  const stepMicros = (toMicros - fromMicros) / count;
  for (const point of pointsOfKey) {
    buckets[Math.min(count - 1, Math.floor((point.atMicros - fromMicros) / stepMicros))]?.push(
      point,
    );
  }
  return {
    keys: countKeys(points),
    buckets: buckets.map((bucket) => toBucket(bucket, values)),
    histogram: toHistogram(sortScores(pointsOfKey)),
    values,
  };
}

const sortScores = (points: readonly FeedbackPoint[]): readonly number[] =>
  points.flatMap(({ score }) => (score === null ? [] : [score])).toSorted((a, b) => a - b);

const computeMean = (scores: readonly number[]): number | null =>
  scores.length === 0 ? null : scores.reduce((sum, score) => sum + score, 0) / scores.length;

/** Returns the key that occurs most often; `undefined` if there is no feedback. */
export const findMostFrequentKey = (points: readonly FeedbackPoint[]): string | undefined =>
  countKeys(points)[0]?.key;

function countKeys(points: readonly FeedbackPoint[]): FeedbackTrend["keys"] {
  const byKey = new Map<string, FeedbackPoint[]>();
  for (const point of points) {
    const keyPoints = byKey.get(point.key) ?? [];
    byKey.set(point.key, keyPoints);
    keyPoints.push(point);
  }
  return [...byKey]
    .map(([key, keyPoints]) => ({
      key,
      n: keyPoints.length,
      mean: computeMean(sortScores(keyPoints)),
    }))
    .toSorted((a, b) => b.n - a.n || (a.key < b.key ? -1 : 1));
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

const findTopValues = (points: readonly FeedbackPoint[]): readonly string[] =>
  [...countValues(points)]
    .toSorted(([, countA], [, countB]) => countB - countA)
    .slice(0, maxValues)
    .map(([value]) => value);

function toBucket(points: readonly FeedbackPoint[], values: readonly string[]): FeedbackBucket {
  const scores = sortScores(points);
  const counts = countValues(points);
  const findQuantile = (share: number): number | null =>
    scores[Math.max(0, Math.ceil(scores.length * share) - 1)] ?? null;
  return {
    n: points.length,
    mean: computeMean(scores),
    p10: findQuantile(0.1),
    p90: findQuantile(0.9),
    values: Object.fromEntries(
      values.flatMap((value) => {
        const n = counts.get(value);
        return n === undefined ? [] : [[value, n] as const];
      }),
    ),
  };
}

function toHistogram(scores: readonly number[]): FeedbackTrend["histogram"] {
  const [lowest = 0] = scores;
  const highest = scores.at(-1) ?? 0;
  if (scores.length === 0) {
    return [];
  }
  const distinct = new Set(scores);
  if (distinct.size <= maxHistogramSteps) {
    return [...distinct].map((score) => ({
      from: score,
      to: score,
      n: scores.filter((other) => other === score).length,
    }));
  }
  const step = (highest - lowest) / maxHistogramSteps;
  return Array.from({ length: maxHistogramSteps }, (_, index) => {
    const stepStart = lowest + step * index;
    const stepEnd = index === maxHistogramSteps - 1 ? highest : lowest + step * (index + 1);
    const isWithin = (score: number): boolean =>
      score >= stepStart && (index === maxHistogramSteps - 1 ? score <= stepEnd : score < stepEnd);
    return { from: stepStart, to: stepEnd, n: scores.filter(isWithin).length };
  });
}

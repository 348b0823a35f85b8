import type { Quantiles } from "../main/index.ts";
import type { RowScore } from "./evaluator.ts";
import type { EvaluationProgress, FailureReason, ScoreSummary, UntypedRow } from "./result.ts";
import { DifferenceStatistics } from "./significance.ts";

/** The members of a row that a summary uses. */
type SummarizedRow = Pick<UntypedRow, "error" | "scores" | "durationMs" | "isResumed">;

/**
 * Counts and averages of the rows that have finished. The memory that it needs does not depend on the number of rows.
 */
export class Summary {
  /** Number of rows in total, if it is known. */
  total: number | undefined;
  #rows = 0;
  #resumed = 0;
  #failed = 0;
  #acknowledged = 0;
  readonly #scores = new Map<string, ScoreStatistics>();
  readonly #durations = new DurationHistogram();
  readonly #reasons = new FailureReasons();

  addRow({ error, scores, durationMs, isResumed }: SummarizedRow): void {
    this.#rows += 1;
    this.#resumed += isResumed ? 1 : 0;
    if (error === undefined) {
      this.#durations.add(durationMs);
    } else {
      this.#failed += 1;
      this.#reasons.add("target", error);
    }
    for (const score of scores) {
      const statistics = this.#scores.get(score.key) ?? new ScoreStatistics();
      this.#scores.set(score.key, statistics);
      statistics.add(score);
      if (score.error !== undefined) {
        this.#reasons.add(score.key, score.error);
      }
    }
  }

  addAcknowledged(rows: number): void {
    this.#acknowledged += rows;
  }

  progress(): EvaluationProgress {
    const scores = Object.fromEntries(
      [...this.#scores].map(([key, statistics]) => [key, statistics.summarize()]),
    );
    return {
      rows: this.#rows,
      ...(this.total === undefined ? {} : { total: this.total }),
      resumed: this.#resumed,
      failed: this.#failed,
      evaluatorErrors: Object.values(scores).reduce((sum, { errors }) => sum + errors, 0),
      scores,
      failureReasons: this.#reasons.list,
      durationMs: this.#durations.quantiles(),
      acknowledged: this.#acknowledged,
    };
  }
}

/** Maximum number of reasons that are kept, because every row may fail with a different message. */
const maxReasons = 5;
const maxReasonChars = 200;

/** Counts the messages with which the target and evaluators failed. */
class FailureReasons {
  readonly #counts = new Map<string, { source: string; message: string; count: number }>();

  add(source: string, text: string): void {
    const [firstLine = ""] = text.split("\n", 1);
    const message =
      firstLine.length > maxReasonChars ? `${firstLine.slice(0, maxReasonChars - 1)}…` : firstLine;
    const key = `${source}\n${message}`;
    const reason = this.#counts.get(key);
    if (reason !== undefined) {
      reason.count += 1;
    } else if (this.#counts.size < maxReasons) {
      this.#counts.set(key, { source, message, count: 1 });
    }
  }

  get list(): readonly FailureReason[] {
    return [...this.#counts.values()].map((reason) => ({ ...reason }));
  }
}

/** The scores with one key. */
class ScoreStatistics {
  readonly #numbers = new DifferenceStatistics();
  #count = 0;
  #errors = 0;
  #min = Number.POSITIVE_INFINITY;
  #max = Number.NEGATIVE_INFINITY;

  add({ score, error }: RowScore): void {
    if (error !== undefined) {
      this.#errors += 1;
      return;
    }
    this.#count += 1;
    if (score !== undefined) {
      const number = Number(score);
      this.#numbers.add(number);
      this.#min = Math.min(this.#min, number);
      this.#max = Math.max(this.#max, number);
    }
  }

  summarize(): ScoreSummary {
    const { count, mean, deviation } = this.#numbers;
    const range = count > 0 ? { mean, min: this.#min, max: this.#max, deviation } : {};
    return { count: this.#count, ...range, errors: this.#errors };
  }
}

/** Logarithm of the ratio between the limits of adjacent buckets. Each limit is one percent above the previous one. */
const logBucketRatio = Math.log(1.01);

/** Quantiles of durations, with an error of at most one percent. */
class DurationHistogram {
  readonly #buckets = new Map<number, number>();
  #count = 0;
  #max = 0;

  add(durationMs: number): void {
    // Bucket 0 contains durations of up to one microsecond.
    const bucket = Math.ceil(Math.log(Math.max(durationMs * 1_000, 1)) / logBucketRatio);
    this.#buckets.set(bucket, (this.#buckets.get(bucket) ?? 0) + 1);
    this.#count += 1;
    this.#max = Math.max(this.#max, durationMs);
  }

  quantiles(): Quantiles {
    const sorted = [...this.#buckets].toSorted(([left], [right]) => left - right);
    const find = (share: number): number => {
      let rank = Math.ceil(this.#count * share);
      for (const [bucket, count] of sorted) {
        rank -= count;
        if (rank <= 0) {
          return Math.min(Math.exp(bucket * logBucketRatio) / 1_000, this.#max);
        }
      }
      return this.#max;
    };
    return { count: this.#count, p50: find(0.5), p90: find(0.9), p99: find(0.99), max: this.#max };
  }
}

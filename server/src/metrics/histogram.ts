/**
 * Ratio of the ends of two consecutive buckets. The estimate of a value is the point of its bucket whose relative
 * distance from both ends is equal, so it is off by at most (1.04 - 1) / (1.04 + 1), which is less than 2 %.
 */
const bucketGrowth = 1.04;

const logGrowth = Math.log(bucketGrowth);

/**
 * The bucket of a number of microseconds: bucket `n` contains the values above `1.04 ** (n - 1)`, up to `1.04 ** n`.
 */
const toBucket = (micros: number): number =>
  micros <= 1 ? 0 : Math.ceil(Math.log(micros) / logGrowth);

/** The value that stands for all values of a bucket. */
const toEstimate = (bucket: number): number =>
  bucket === 0 ? 1 : (2 * bucketGrowth ** bucket) / (bucketGrowth + 1);

/** The distribution of durations, in microseconds. Histograms can be merged without a loss of accuracy. */
export class Histogram {
  /** Number of values by bucket. */
  readonly counts = new Map<number, number>();

  add(micros: number): void {
    this.addCount(toBucket(micros), 1);
  }

  addCount(bucket: number, count: number): void {
    this.counts.set(bucket, (this.counts.get(bucket) ?? 0) + count);
  }

  merge(other: Histogram): void {
    other.counts.forEach((count, bucket) => this.addCount(bucket, count));
  }

  /** Estimates quantiles, such as 0.5 and 0.95, which must ascend; `null` for each if there are no values. */
  quantiles(shares: readonly number[]): readonly (number | null)[] {
    const buckets = [...this.counts].toSorted(([a], [b]) => a - b);
    const total = buckets.reduce((sum, [, count]) => sum + count, 0);
    let index = 0;
    let countUpTo = buckets[0]?.[1] ?? 0;
    return shares.map((share) => {
      const rank = Math.max(1, Math.ceil(total * share));
      while (countUpTo < rank && index < buckets.length - 1) {
        index += 1;
        countUpTo += buckets[index]?.[1] ?? 0;
      }
      const bucket = buckets[index];
      return bucket === undefined ? null : toEstimate(bucket[0]);
    });
  }
}

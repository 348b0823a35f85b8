/** Number of buckets between a duration and its double. The error of a percentile is then at most a twelfth. */
const bucketsPerDoubling = 8;
const bucketCount = 40 * bucketsPerDoubling;

/** A histogram of call durations. A list of millions of durations would take too much memory. */
export class CallTimes {
  readonly #counts = new Uint32Array(bucketCount);
  #longestMs = 0;
  #total = 0;

  add(ms: number): void {
    const exact = Math.round(Math.log2(ms * 1e6 + 1) * bucketsPerDoubling);
    const bucket = Math.min(exact, bucketCount - 1);
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#total += 1;
    if (ms > this.#longestMs) {
      this.#longestMs = ms;
    }
  }

  clear(): void {
    this.#counts.fill(0);
    this.#longestMs = 0;
    this.#total = 0;
  }

  get longestMs(): number {
    return this.#longestMs;
  }

  /** Returns a quantile in microseconds, or 0 if no call was counted. */
  quantileMicros(share: number): number {
    let remaining = this.#total * share;
    for (const [bucket, count] of this.#counts.entries()) {
      remaining -= count;
      if (remaining < 0) {
        return 2 ** (bucket / bucketsPerDoubling) / 1_000;
      }
    }
    return 0;
  }
}

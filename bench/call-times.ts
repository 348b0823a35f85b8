/** Buckets a doubling: a percentile is exact to a twelfth. */
const bucketsPerDoubling = 8;
const bucketCount = 40 * bucketsPerDoubling;

/** How long calls held their caller: counted in buckets, because a list of millions would cost memory. */
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

  /** In microseconds; 0 where nothing was counted. */
  quantileMicros(share: number): number {
    let left = this.#total * share;
    for (const [bucket, count] of this.#counts.entries()) {
      left -= count;
      if (left < 0) {
        return 2 ** (bucket / bucketsPerDoubling) / 1_000;
      }
    }
    return 0;
  }
}

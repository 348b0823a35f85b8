/** What was stored of one project since it was last asked. Counts are of runs, unless they say otherwise. */
export interface ActivityCounts {
  /** Runs that were not known before. */
  readonly runs: number;
  /** Traces that ended. */
  readonly traces: number;
  /** Those of them with an error. */
  readonly errors: number;
  /** Tokens that model calls reported. */
  readonly tokens: number;
  /** What they reported to have cost. */
  readonly cost: number;
  /** Latencies of the traces: how many lie in which bucket, see {@link latencyBucket}. */
  readonly latencies: readonly (readonly [bucket: number, count: number])[];
}

export interface Activity extends ActivityCounts {
  readonly tenantId: string;
  readonly projectId: string;
}

/** Each bucket reaches 5 % further than the one before: what is read from it is off by 2.5 % at most. */
export const bucketGrowth = 1.05;

/** The bucket of a latency: bucket `n` ends at `1.05 ** n` microseconds. */
export const latencyBucket = (micros: number): number =>
  micros <= 1 ? 0 : Math.ceil(Math.log(micros) / Math.log(bucketGrowth));

/** Counts of what was stored for one project since the last call of `ActivityCounter.takeCounts`. */
export interface ActivityCounts {
  /** Runs stored for the first time. */
  readonly runs: number;
  /** Traces whose root run ended. */
  readonly traces: number;
  /** Traces whose root run ended with an error. */
  readonly errors: number;
  /** Tokens that model calls reported. */
  readonly tokens: number;
  /** Cost that model calls reported. */
  readonly cost: number;
  /** Latency histogram of the ended traces: the number of traces in each bucket; see {@link toLatencyBucket}. */
  readonly latencies: readonly (readonly [bucket: number, count: number])[];
}

/** The counts of one project, with the ids of the project and of its tenant. */
export interface Activity extends ActivityCounts {
  readonly tenantId: string;
  readonly projectId: string;
}

/** Which process stored the runs: this one, or another one that uses the same database. */
export type ActivitySource = "own" | "other";

export type ActivityListener = (activity: readonly Activity[], source: ActivitySource) => void;

/** Ratio of the ends of two consecutive latency buckets. A latency read from a bucket is off by at most 2.5 %. */
export const bucketGrowth = 1.05;

/** The bucket of a latency: bucket `n` ends at `1.05 ** n` microseconds. */
export const toLatencyBucket = (micros: number): number =>
  micros <= 1 ? 0 : Math.ceil(Math.log(micros) / Math.log(bucketGrowth));

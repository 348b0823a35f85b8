/** What an experiment made of one example, all its repetitions together. */
export interface ExampleOutcome {
  readonly exampleId: string;
  readonly runCount: number;
  readonly errorCount: number;
  /** Mean of the runs that have ended; `null` where none has. */
  readonly latencyMicros: number | null;
  readonly firstStartMicros: number;
}

/** The mean score of one key on an experiment's runs of one example. */
export interface ExampleScore {
  readonly exampleId: string;
  readonly key: string;
  readonly score: number;
}

/** What a trace used, over its runs of type `llm`. */
export interface TraceUsage {
  readonly tokens: number | null;
  readonly cost: number | null;
}

export interface ExperimentReads {
  /** One for each example that the experiment has root runs on. */
  outcomes(tenantId: string, experimentId: string): readonly ExampleOutcome[];
  /** Of the root runs: what was given in the comparison, or, where none is named, in no comparison. */
  scores(tenantId: string, experimentId: string, comparativeId?: string): readonly ExampleScore[];
  /** By trace; of those that are the tenant's. */
  usageOfTraces(tenantId: string, traceIds: readonly string[]): ReadonlyMap<string, TraceUsage>;
}

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

/** An experiment as it is compared. */
export interface Contestant {
  readonly id: string;
  readonly outcomes: readonly ExampleOutcome[];
  readonly scores: readonly ExampleScore[];
}

export type ComparisonOrder = "regression" | "improvement" | "run";
export type ComparisonSubset = "all" | "regressions" | "improvements" | "errors";

export interface ComparisonQuery {
  /** Of the contestants; the others are held against it. */
  readonly baselineId: string;
  /** Of the scores only this one; all of them where it is left out. */
  readonly key?: string | undefined;
  /** Keys of which less is better. */
  readonly lowerIsBetter: ReadonlySet<string>;
  readonly order: ComparisonOrder;
  readonly only: ComparisonSubset;
}

/** One example, as each contestant did on it. */
export interface ComparedExample {
  readonly exampleId: string;
  readonly startMicros: number;
  /** By contestant, then by key. */
  readonly scores: ReadonlyMap<string, ReadonlyMap<string, number>>;
  readonly hasError: boolean;
  /** The worst and the best change, as shares of what the key's scores span; an error that is new is -2. */
  readonly worst: number;
  readonly best: number;
}

/** What one contestant's scores of a key come to. */
export interface KeySummary {
  readonly mean: number | null;
  readonly count: number;
  /** Against the baseline, by example. */
  readonly better: number;
  readonly worse: number;
  readonly same: number;
  /** How many scores lie in each tenth of what the key's scores span. */
  readonly bins: readonly number[];
}

export interface ComparedKey {
  readonly key: string;
  readonly min: number;
  readonly max: number;
  readonly byContestant: ReadonlyMap<string, KeySummary>;
}

export interface Comparison {
  /** Those that the subset has, in the order that was asked for. */
  readonly examples: readonly ComparedExample[];
  readonly total: number;
  readonly keys: readonly ComparedKey[];
}

/** What is compared, and which page of it is shown. */
export interface ComparisonQuestion extends ComparisonQuery {
  readonly experimentIds: readonly string[];
  /** Only scores that were given in this comparison; else only those that were given in none. */
  readonly comparativeId?: string | undefined;
  readonly limit: number;
  readonly offset: number;
}

/** What an experiment comes to. */
export interface ExperimentTotals {
  readonly id: string;
  readonly exampleCount: number;
  readonly runCount: number;
  readonly errorCount: number;
  /** Mean over the examples with a run that has ended; `null` where there is none. */
  readonly latencyMicros: number | null;
}

/** A page of a {@link Comparison}. */
export interface ComparisonPage extends Comparison {
  /** How many examples the subset has. */
  readonly matching: number;
  readonly experiments: readonly ExperimentTotals[];
}

export interface ExperimentReads {
  /** Joins experiments by example, over the root runs that they have on them. */
  compare(tenantId: string, question: ComparisonQuestion): ComparisonPage;
  /** By trace; of those that are the tenant's. */
  usageOfTraces(tenantId: string, traceIds: readonly string[]): ReadonlyMap<string, TraceUsage>;
}

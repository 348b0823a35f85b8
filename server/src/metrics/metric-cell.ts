import { roundCost } from "../runs/usage/run-cost.ts";
import { Histogram } from "./histogram.ts";
import type { CountValues, MetricValues, Percentiles, Scope } from "./metrics.ts";

/** The numbers of one run that metrics count. */
export interface CountedRun {
  readonly hasError: boolean;
  /** `null` if the run has not ended. */
  readonly latencyMicros: number | null;
  /** Time from the start of the run to its first token; `null` if it had none. */
  readonly firstTokenMicros: number | null;
  /** Usage of a model call; 0 for other runs, whose usage is the sum of their model calls, which would count twice. */
  readonly tokens: number;
  readonly cost: number;
  /** Usage of all model calls of the trace whose root the run is; 0 for other runs. */
  readonly traceTokens: number;
  readonly traceCost: number;
  /**
   * The time to the first token of the trace whose root the run is; `null` for other runs, and for a root with a first
   * token of its own.
   */
  readonly traceFirstTokenMicros: number | null;
}

/** The counts of a group of runs, such as those that started in one minute and called one model. */
export class MetricCell {
  runs = 0;
  errors = 0;
  tokens = 0;
  cost = 0;
  /** The tokens and the cost of the whole traces whose roots are in the group. */
  traceTokens = 0;
  traceCost = 0;
  readonly latency = new Histogram();
  readonly firstToken = new Histogram();
  readonly traceFirstToken = new Histogram();

  /** Each run is added to a cell of each dimension, so this must not create objects. */
  add(run: CountedRun): void {
    this.runs += 1;
    this.errors += run.hasError ? 1 : 0;
    this.tokens += run.tokens;
    this.cost += run.cost;
    this.traceTokens += run.traceTokens;
    this.traceCost += run.traceCost;
    if (run.latencyMicros !== null) {
      this.latency.add(run.latencyMicros);
    }
    if (run.firstTokenMicros !== null) {
      this.firstToken.add(run.firstTokenMicros);
    }
    if (run.traceFirstTokenMicros !== null) {
      this.traceFirstToken.add(run.traceFirstTokenMicros);
    }
  }

  merge(other: MetricCell): void {
    this.runs += other.runs;
    this.errors += other.errors;
    this.tokens += other.tokens;
    this.cost += other.cost;
    this.traceTokens += other.traceTokens;
    this.traceCost += other.traceCost;
    this.latency.merge(other.latency);
    this.firstToken.merge(other.firstToken);
    this.traceFirstToken.merge(other.traceFirstToken);
  }

  /** @param scope - with `traces`, the usage and the first tokens of whole traces are returned */
  toValues(scope: Scope): MetricValues {
    return {
      ...this.toCounts(scope),
      latency: toPercentiles(this.latency),
      firstToken: toPercentiles(
        scope === "traces"
          ? joinHistograms(this.firstToken, this.traceFirstToken)
          : this.firstToken,
      ),
    };
  }

  /** Returns the counts without the percentiles, which take time to compute. `scope` is as in {@link toValues}. */
  toCounts(scope: Scope): CountValues {
    const { runs, errors } = this;
    return scope === "traces"
      ? { runs, errors, tokens: this.traceTokens, cost: roundCost(this.traceCost) }
      : { runs, errors, tokens: this.tokens, cost: roundCost(this.cost) };
  }
}

function joinHistograms(first: Histogram, second: Histogram): Histogram {
  const joined = new Histogram();
  joined.merge(first);
  joined.merge(second);
  return joined;
}

function toPercentiles(histogram: Histogram): Percentiles {
  const [p50 = null, p95 = null, p99 = null] = histogram.quantiles([0.5, 0.95, 0.99]);
  return { p50, p95, p99 };
}

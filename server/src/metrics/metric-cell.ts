import { roundCost } from "../runs/usage/run-cost.ts";
import { Histogram } from "./histogram.ts";
import type { MetricValues, Percentiles } from "./metrics.ts";

/** The numbers of one run that metrics count. */
export interface CountedRun {
  readonly hasError: boolean;
  /** `null` if the run has not ended, or had no first token. */
  readonly latencyMicros: number | null;
  readonly firstTokenMicros: number | null;
  /** Usage of a model call; 0 for other runs, which repeat the usage of those below them. */
  readonly tokens: number;
  readonly cost: number;
}

/** Sums over runs. */
export class MetricCell {
  runs = 0;
  errors = 0;
  tokens = 0;
  cost = 0;
  readonly latency = new Histogram();
  readonly firstToken = new Histogram();

  add({ hasError, latencyMicros, firstTokenMicros, tokens, cost }: CountedRun): void {
    this.runs += 1;
    this.errors += hasError ? 1 : 0;
    this.tokens += tokens;
    this.cost += cost;
    if (latencyMicros !== null) {
      this.latency.add(latencyMicros);
    }
    if (firstTokenMicros !== null) {
      this.firstToken.add(firstTokenMicros);
    }
  }

  merge(other: MetricCell): void {
    this.runs += other.runs;
    this.errors += other.errors;
    this.tokens += other.tokens;
    this.cost += other.cost;
    this.latency.merge(other.latency);
    this.firstToken.merge(other.firstToken);
  }

  toValues(): MetricValues {
    const { runs, errors, tokens, cost, latency, firstToken } = this;
    return {
      runs,
      errors,
      tokens,
      cost: roundCost(cost),
      latency: toPercentiles(latency),
      firstToken: toPercentiles(firstToken),
    };
  }
}

function toPercentiles(histogram: Histogram): Percentiles {
  const [p50 = null, p95 = null, p99 = null] = histogram.quantiles([0.5, 0.95, 0.99]);
  return { p50, p95, p99 };
}

/** Measurements of all rounds, and what follows from them. */
import type { Measurement } from "./child.ts";
import type { WorkloadName } from "./workloads.ts";

/** The client that records nothing: what the harness costs. */
export const harness = "none";
/** The client that a guard compares with: it needs no package beside Node. */
export const baseline = "naive";
export const measured = "millrace";

type Figure = keyof Measurement;

export class Deliveries {
  /** In the order of the rounds, by workload and driver. */
  readonly #all = new Map<string, Measurement[]>();

  add(workload: WorkloadName, driver: string, measurement: Measurement): void {
    const key = `${workload} ${driver}`;
    this.#all.set(key, [...(this.#all.get(key) ?? []), measurement]);
  }

  has(workload: WorkloadName, driver: string): boolean {
    return this.#all.has(`${workload} ${driver}`);
  }

  /** A figure of each round. */
  each(workload: WorkloadName, driver: string, figure: Figure): readonly number[] {
    return (this.#all.get(`${workload} ${driver}`) ?? []).map((one) => one[figure]);
  }

  /** Of all rounds together. */
  total(workload: WorkloadName, driver: string, figure: Figure): number {
    return this.each(workload, driver, figure).reduce((sum, one) => sum + one, 0);
  }

  /** CPU time of each round, the harness's of the same round subtracted. */
  cost(
    workload: WorkloadName,
    driver: string,
    figure: "mainMicros" | "processMicros",
  ): readonly number[] {
    const own = this.each(workload, harness, figure);
    return this.each(workload, driver, figure).map((one, round) => one - (own[round] ?? 0));
  }

  /** Ours over another client's in each round: two measured one after the other share the machine's mood. */
  ratios(workload: WorkloadName, other: string, figure: Figure): readonly number[] {
    const of = (driver: string): readonly number[] =>
      figure === "mainMicros" || figure === "processMicros"
        ? this.cost(workload, driver, figure)
        : this.each(workload, driver, figure);
    const others = of(other);
    return of(measured).map((value, round) => value / (others[round] ?? Number.NaN));
  }
}

/** Collects the measurements of all rounds and derives figures from them. */
import type { Measurement } from "./child.ts";
import type { WorkloadName } from "./workloads.ts";

/** The driver that records nothing. Its figures are the cost of the harness. */
export const harnessDriver = "none";
/** The client with which `--guard` compares. It needs no package besides Node. */
export const baseline = "naive";
export const ownDriver = "millrace";

type Figure = keyof Measurement;

export class Deliveries {
  /** Measurements by workload and driver, in the order of the rounds. */
  readonly #all = new Map<string, Measurement[]>();

  add(workload: WorkloadName, driver: string, measurement: Measurement): void {
    const key = `${workload} ${driver}`;
    this.#all.set(key, [...(this.#all.get(key) ?? []), measurement]);
  }

  has(workload: WorkloadName, driver: string): boolean {
    return this.#all.has(`${workload} ${driver}`);
  }

  /** One figure of each round. */
  each(workload: WorkloadName, driver: string, figure: Figure): readonly number[] {
    return (this.#all.get(`${workload} ${driver}`) ?? []).map((measurement) => measurement[figure]);
  }

  /** The sum of a figure over all rounds. */
  total(workload: WorkloadName, driver: string, figure: Figure): number {
    return this.each(workload, driver, figure).reduce((sum, value) => sum + value, 0);
  }

  /** CPU time in each round, minus that of the harness in the same round. */
  cost(
    workload: WorkloadName,
    driver: string,
    figure: "mainMicros" | "processMicros",
  ): readonly number[] {
    const harnessCosts = this.each(workload, harnessDriver, figure);
    return this.each(workload, driver, figure).map(
      (value, round) => value - (harnessCosts[round] ?? 0),
    );
  }

  /**
   * Ratio of Millrace's figure to another client's in each round. Two consecutive measurements run under a similar machine
   * load.
   */
  ratios(workload: WorkloadName, other: string, figure: Figure): readonly number[] {
    const figuresOf = (driver: string): readonly number[] =>
      figure === "mainMicros" || figure === "processMicros"
        ? this.cost(workload, driver, figure)
        : this.each(workload, driver, figure);
    const otherFigures = figuresOf(other);
    return figuresOf(ownDriver).map((value, round) => value / (otherFigures[round] ?? Number.NaN));
  }
}

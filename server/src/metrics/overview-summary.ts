import { summarizeUnits } from "./metric-summary.ts";
import type { PeriodUnits, UnitCounts } from "./metric-summary.ts";
import type {
  MetricQuery,
  MicrosRange,
  OverviewMetrics,
  OverviewQuery,
  ProjectMetrics,
} from "./metrics.ts";
import { joinRanges } from "./outdated-units.ts";

/** Adds up the metrics of projects, one after the other. */
export class OverviewSummary {
  readonly #query: OverviewQuery & Pick<MetricQuery, "groupBy">;
  readonly #projects: ProjectMetrics[] = [];
  readonly #current: UnitCounts[] = [];
  readonly #previous: UnitCounts[] = [];
  readonly #missing: MicrosRange[] = [];

  constructor(query: OverviewQuery) {
    this.#query = { ...query, groupBy: undefined };
  }

  add(projectId: string, units: PeriodUnits): void {
    // A loop, because a call with too many arguments overflows the stack.
    units.current.forEach((unit) => this.#current.push(unit));
    units.previous.forEach((unit) => this.#previous.push(unit));
    units.missing.forEach((range) => this.#missing.push(range));
    const { all } = summarizeUnits(this.#query, { ...units, previous: [] });
    if (all.total.runs > 0) {
      this.#projects.push({
        projectId,
        total: all.total,
        runs: all.points.map(({ runs }) => runs),
      });
    }
  }

  toMetrics(isPartial: boolean): OverviewMetrics {
    const { all } = summarizeUnits(this.#query, {
      current: this.#current,
      previous: this.#previous,
      missing: [],
    });
    const missing = this.#missing.toSorted((a, b) => b.toMicros - a.toMicros);
    return { all, missing: joinRanges(missing), projects: this.#projects, isPartial };
  }
}

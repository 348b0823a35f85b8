import { ownProjects } from "../model/own-projects.ts";
import { summarizeUnits } from "./metric-summary.ts";
import type { PeriodUnits, UnitCounts } from "./metric-summary.ts";
import type {
  MetricQuery,
  MicrosRange,
  OverviewMetrics,
  OverviewQuery,
  ProjectMetrics,
} from "./metrics.ts";
import { joinPeriods, joinRanges, toPreviousRange } from "./outdated-units.ts";
import type { CollectedUnits } from "./outdated-units.ts";

/** A project that may have runs in the range of an overview. */
export interface ListedProject {
  readonly id: string;
  readonly name: string;
}

/**
 * Computes the overview of some projects. Yields a query for the counts of a range and expects these as the result of
 * the `yield`, so that the synchronous reader of SQLite and the asynchronous one of PostgreSQL share the loop.
 *
 * @param projects - the projects in order, one more than `maxProjects` if there are too many
 * @param untilMs - when to stop reading further projects, on the clock of `performance.now()`
 */
export function* summarizeOverview(
  query: OverviewQuery,
  projects: readonly ListedProject[],
  untilMs: number,
): Generator<MetricQuery, OverviewMetrics, CollectedUnits> {
  const summary = new OverviewSummary(query);
  let isPartial = projects.length > query.maxProjects;
  for (const { id: projectId, name } of projects.slice(0, query.maxProjects)) {
    if (performance.now() > untilMs) {
      isPartial = true;
      break;
    }
    const projectQuery = { ...query, projectId, groupBy: undefined };
    const currentUnits = yield projectQuery;
    const previous = yield { ...projectQuery, ...toPreviousRange(query) };
    summary.add(
      { projectId, isCounted: query.countsOwnProjects || !ownProjects.includes(name) },
      joinPeriods(currentUnits, previous),
    );
  }
  return summary.toMetrics(isPartial);
}

/** Adds up the metrics of projects, one after the other. */
class OverviewSummary {
  readonly #query: OverviewQuery & Pick<MetricQuery, "groupBy">;
  readonly #projects: ProjectMetrics[] = [];
  readonly #current: UnitCounts[] = [];
  readonly #previous: UnitCounts[] = [];
  readonly #missing: MicrosRange[] = [];

  constructor(query: OverviewQuery) {
    this.#query = { ...query, groupBy: undefined };
  }

  add(project: Pick<ProjectMetrics, "projectId" | "isCounted">, units: PeriodUnits): void {
    if (project.isCounted) {
      // Not `push(...units)`: a call with too many arguments overflows the stack.
      units.current.forEach((unit) => this.#current.push(unit));
      units.previous.forEach((unit) => this.#previous.push(unit));
    }
    units.missing.forEach((range) => this.#missing.push(range));
    const { all } = summarizeUnits(this.#query, units);
    if (all.total.runs + all.previous.runs > 0) {
      this.#projects.push({
        ...project,
        total: all.total,
        runs: all.points.map(({ runs }) => runs),
        previousRuns: all.previousPoints.map(({ runs }) => runs),
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

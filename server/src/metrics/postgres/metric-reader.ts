import { toCondition } from "../../runs/postgres/run-conditions.ts";
import type { PostgresDatabase } from "../../storage/postgres/postgres-database.ts";
import type { Promised } from "../../storage/promised.ts";
import type { CountQuery, RunCount, StoredCounts } from "../../runs/run-list.ts";
import { readBody } from "../metric-body.ts";
import { allDimension, summarizeUnits } from "../metric-summary.ts";
import type { UnitCounts } from "../metric-summary.ts";
import { classesByScope, dimensions, markLevels, unitMicros } from "../metrics.ts";
import type {
  MetricQuery,
  MetricReads,
  Metrics,
  MicrosRange,
  OverviewMetrics,
  OverviewQuery,
} from "../metrics.ts";
import { summarizeOverview } from "../overview-summary.ts";
import type { ListedProject } from "../overview-summary.ts";
import { joinPeriods, joinRanges, selectLevel, toPreviousRange } from "../outdated-units.ts";
import type { CollectedUnits } from "../outdated-units.ts";
import { PostgresMetricUnits } from "./metric-units.ts";

type PromisedMetricReads = Promised<{ readonly metrics: MetricReads }>["metrics"];

/** Reads metrics: stored ones, and the runs of units that are out of date. */
export class PostgresMetricReader implements PromisedMetricReads {
  readonly #db: PostgresDatabase;
  readonly #units: PostgresMetricUnits;

  constructor(db: PostgresDatabase) {
    this.#db = db;
    this.#units = new PostgresMetricUnits(db);
  }

  /** Must be the first call of its transaction. */
  async read(tenantId: string, query: MetricQuery): Promise<Metrics> {
    // All statements see the same state, so that the stored metrics, the marks and the runs belong together.
    await this.#db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    const deadlineMs = performance.now() + query.withinMs;
    const currentUnits = await this.#collect(tenantId, query, deadlineMs);
    const previousQuery = { ...query, ...toPreviousRange(query) };
    const previous = await this.#collect(tenantId, previousQuery, deadlineMs);
    return summarizeUnits(query, joinPeriods(currentUnits, previous));
  }

  /** Must be the first call of its transaction. */
  async readOverview(tenantId: string, query: OverviewQuery): Promise<OverviewMetrics> {
    await this.#db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    const startMs = performance.now();
    const projects = await this.#listActive(
      tenantId,
      { fromMicros: toPreviousRange(query).fromMicros, toMicros: query.toMicros },
      query.maxProjects + 1,
    );
    const steps = summarizeOverview(query, projects, startMs + query.maxMs);
    let step = steps.next();
    while (step.done !== true) {
      step = steps.next(await this.#collect(tenantId, step.value, startMs + query.withinMs));
    }
    return step.value;
  }

  /** Lists the projects that may have runs in a range: those with stored metrics of a day in it, or with marks. */
  async #listActive(
    tenantId: string,
    { fromMicros, toMicros }: MicrosRange,
    limit: number,
  ): Promise<readonly ListedProject[]> {
    const { rows } = await this.#db.query<{ readonly id: string; readonly name_json: string }>(
      `SELECT id, name_json FROM projects p WHERE tenant_id = $1 AND reference_dataset_id IS NULL AND (
         EXISTS (SELECT FROM metrics m WHERE m.tenant_id = $1 AND m.project_id = p.id AND m.level = ${markLevels.day}
           AND m.dimension = ${dimensions.indexOf(allDimension)} AND m.unit >= $2::bigint AND m.unit < $3::bigint)
         OR EXISTS (SELECT FROM metric_marks k WHERE k.tenant_id = $1 AND k.project_id = p.id))
       ORDER BY name_json LIMIT $4::int`,
      [
        tenantId,
        Math.floor(fromMicros / unitMicros.day),
        Math.ceil(toMicros / unitMicros.day),
        limit,
      ],
    );
    return rows.map(({ id, name_json: name }) => ({ id, name: String(JSON.parse(name)) }));
  }

  /**
   * Counts the runs of a range from the stored counts of the minutes, hours or days in it. Also returns the ranges for
   * which no counts are stored, or which are out of date. Must be the first call of its transaction.
   */
  async countStored(
    tenantId: string,
    { projectId, isRoot, fromMicros, toMicros, widthMicros }: CountQuery,
  ): Promise<StoredCounts> {
    await this.#db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    const level = selectLevel(widthMicros);
    const firstMicros = Math.ceil(fromMicros / unitMicros[level]) * unitMicros[level];
    const endMicros = Math.floor(toMicros / unitMicros[level]) * unitMicros[level];
    if (widthMicros % unitMicros[level] !== 0 || firstMicros >= endMicros) {
      return { counts: [], uncounted: [{ fromMicros, toMicros }] };
    }
    const { stored, outdatedRanges } = await this.#units.readStored(
      {
        tenantId,
        projectId,
        fromMicros: firstMicros,
        toMicros: endMicros,
        dimensionIndexes: [dimensions.indexOf(allDimension)],
      },
      level,
    );
    const ranges = [
      { fromMicros: endMicros, toMicros },
      ...outdatedRanges.toSorted((left, right) => right.fromMicros - left.fromMicros),
      { fromMicros, toMicros: firstMicros },
    ];
    return {
      counts: stored.map((unit) => countUnit(unit, isRoot)),
      uncounted: joinRanges(ranges.filter((range) => range.fromMicros < range.toMicros)),
    };
  }

  #collect(
    tenantId: string,
    query: MetricQuery & MicrosRange,
    deadlineMs: number,
  ): Promise<CollectedUnits> {
    const { projectId, fromMicros, toMicros, groupBy = allDimension, widthMicros, filter } = query;
    const range = {
      tenantId,
      projectId,
      fromMicros,
      toMicros,
      dimensionIndexes: [
        ...new Set([dimensions.indexOf(allDimension), dimensions.indexOf(groupBy)]),
      ],
    };
    if (filter !== undefined) {
      const condition = toCondition(tenantId, { ...filter, projectIds: [projectId] });
      return this.#units.scanFiltered({ ...range, condition }, widthMicros, deadlineMs);
    }
    return this.#units.collect(range, selectLevel(widthMicros), deadlineMs);
  }
}

/** Counts the runs of a unit, and the failed ones among them. With `isRoot`, counts only roots or only other runs. */
function countUnit({ startMicros, body }: UnitCounts, isRoot: boolean | undefined): RunCount {
  const count = { startMicros, runs: 0, errors: 0 };
  readBody(body, ({ key, runs }) => {
    if (isRoot === undefined || classesByScope.traces.includes(key.runClass) === isRoot) {
      count.runs += runs;
      count.errors += key.value === "error" ? runs : 0;
    }
  });
  return count;
}

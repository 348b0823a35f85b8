import { toCondition } from "../../runs/postgres/run-conditions.ts";
import type { PostgresDatabase } from "../../storage/postgres/postgres-database.ts";
import type { Promised } from "../../storage/promised.ts";
import { allDimension, summarizeUnits } from "../metric-summary.ts";
import { dimensions } from "../metrics.ts";
import type { MetricQuery, MetricReads, Metrics, MicrosRange } from "../metrics.ts";
import { selectLevel } from "../outdated-units.ts";
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
    const { fromMicros, toMicros, withinMs } = query;
    const deadlineMs = performance.now() + withinMs;
    const current = await this.#collect(tenantId, query, deadlineMs);
    const previous = await this.#collect(
      tenantId,
      { ...query, fromMicros: fromMicros - (toMicros - fromMicros), toMicros: fromMicros },
      deadlineMs,
    );
    return summarizeUnits(query, {
      current: current.units,
      previous: previous.units,
      missing: [...current.missing, ...previous.missing],
    });
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

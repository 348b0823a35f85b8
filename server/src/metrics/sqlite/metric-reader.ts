import { toConditions } from "../../runs/sqlite/run-conditions.ts";
import { hasTextIndex } from "../../runs/sqlite/text-index/text-index.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";
import { allDimension, summarizeUnits } from "../metric-summary.ts";
import { dimensions } from "../metrics.ts";
import type { MetricQuery, MetricReads, Metrics, MicrosRange } from "../metrics.ts";
import { selectLevel } from "../outdated-units.ts";
import type { CollectedUnits } from "../outdated-units.ts";
import { MetricUnits } from "./metric-units.ts";

/** Reads metrics over a read-only connection. */
export class MetricReader implements MetricReads {
  readonly #db: Connection;
  readonly #hasTextIndex: boolean;
  readonly #units: MetricUnits;
  readonly #findProject;

  constructor(db: Connection) {
    this.#db = db;
    this.#hasTextIndex = hasTextIndex(db);
    this.#units = new MetricUnits(db);
    this.#findProject = db.prepare("SELECT 1 FROM projects WHERE id = ? AND tenant_id = ?").raw();
  }

  read(tenantId: string, query: MetricQuery): Metrics {
    const { fromMicros, toMicros } = query;
    const deadlineMs = performance.now() + query.withinMs;
    const previousRange = {
      fromMicros: fromMicros - (toMicros - fromMicros),
      toMicros: fromMicros,
    };
    // A transaction, so that the stored metrics, the marks and the runs belong together.
    this.#db.exec("BEGIN");
    try {
      const isOwn = this.#findProject.all([query.projectId, tenantId]).length > 0;
      const collect = (range: MicrosRange): CollectedUnits =>
        isOwn ? this.#collect(tenantId, { ...query, ...range }, deadlineMs) : noUnits;
      const current = collect(query);
      const previous = collect(previousRange);
      return summarizeUnits(query, {
        current: current.units,
        previous: previous.units,
        missing: [...current.missing, ...previous.missing],
      });
    } finally {
      this.#db.exec("COMMIT");
    }
  }

  #collect(tenantId: string, query: MetricQuery, deadlineMs: number): CollectedUnits {
    const { projectId, fromMicros, toMicros, groupBy = allDimension, widthMicros, filter } = query;
    const range = {
      projectId,
      fromMicros,
      toMicros,
      dimensionIndexes: [...new Set([allIndex, dimensions.indexOf(groupBy)])],
    };
    if (filter !== undefined) {
      const conditions = toConditions(
        tenantId,
        { ...filter, projectIds: [projectId] },
        { hasTextIndex: this.#hasTextIndex },
      );
      return this.#units.scanFiltered({ ...range, conditions }, widthMicros, deadlineMs);
    }
    return this.#units.collect(range, selectLevel(widthMicros), deadlineMs);
  }
}

const allIndex = dimensions.indexOf(allDimension);

const noUnits: CollectedUnits = { units: [], missing: [] };

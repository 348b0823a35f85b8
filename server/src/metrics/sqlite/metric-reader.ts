import { toConditions } from "../../runs/sqlite/run-conditions.ts";
import { hasTextIndex } from "../../runs/sqlite/text-index/text-index.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";
import { parseRows } from "../../storage/sqlite/rows.ts";
import { allDimension, summarizeUnits } from "../metric-summary.ts";
import { dimensions, markLevels, unitMicros } from "../metrics.ts";
import type {
  MetricQuery,
  MetricReads,
  Metrics,
  MicrosRange,
  OverviewMetrics,
  OverviewQuery,
} from "../metrics.ts";
import { summarizeOverview } from "../overview-summary.ts";
import { joinPeriods, selectLevel, toPreviousRange } from "../outdated-units.ts";
import type { CollectedUnits } from "../outdated-units.ts";
import { MetricUnits } from "./metric-units.ts";

/** Reads metrics over a read-only connection. */
export class MetricReader implements MetricReads {
  readonly #db: Connection;
  readonly #hasTextIndex: boolean;
  readonly #units: MetricUnits;
  readonly #findProject;
  readonly #listActive;

  constructor(db: Connection) {
    this.#db = db;
    this.#hasTextIndex = hasTextIndex(db);
    this.#units = new MetricUnits(db);
    this.#findProject = db.prepare("SELECT 1 FROM projects WHERE id = ? AND tenant_id = ?").raw();
    // Projects without marks, and without stored metrics of a day in the range, have no runs in it.
    this.#listActive = db
      .prepare(
        `SELECT id, name_json FROM projects p WHERE tenant_id = ? AND reference_dataset_id IS NULL AND (
           EXISTS (SELECT 1 FROM metrics m WHERE m.project_id = p.id AND m.level = ${markLevels.day}
             AND m.dimension = ${allIndex} AND m.unit >= ? AND m.unit < ?)
           OR EXISTS (SELECT 1 FROM metric_marks k WHERE k.project_id = p.id))
         ORDER BY name_json LIMIT ?`,
      )
      .raw();
  }

  read(tenantId: string, query: MetricQuery): Metrics {
    const deadlineMs = performance.now() + query.withinMs;
    // A transaction, so that the stored metrics, the marks and the runs belong together.
    this.#db.exec("BEGIN");
    try {
      const belongsToTenant = this.#findProject.all([query.projectId, tenantId]).length > 0;
      const collect = (range: MicrosRange): CollectedUnits =>
        belongsToTenant ? this.#collect(tenantId, { ...query, ...range }, deadlineMs) : noUnits;
      const currentUnits = collect(query);
      const previous = collect(toPreviousRange(query));
      return summarizeUnits(query, joinPeriods(currentUnits, previous));
    } finally {
      this.#db.exec("COMMIT");
    }
  }

  readOverview(tenantId: string, query: OverviewQuery): OverviewMetrics {
    const startMs = performance.now();
    this.#db.exec("BEGIN");
    try {
      const projects = parseRows(
        this.#listActive.all([
          tenantId,
          Math.floor(toPreviousRange(query).fromMicros / unitMicros.day),
          Math.ceil(query.toMicros / unitMicros.day),
          query.maxProjects + 1,
        ]),
      ).map(([id, nameJson]) => ({
        id: String(id),
        name: String(JSON.parse(String(nameJson))),
      }));
      const steps = summarizeOverview(query, projects, startMs + query.maxMs);
      let step = steps.next();
      while (step.done !== true) {
        step = steps.next(this.#collect(tenantId, step.value, startMs + query.withinMs));
      }
      return step.value;
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

import { serverLimits } from "../../model/options.ts";
import type { PostgresDatabase } from "../../storage/postgres/postgres-database.ts";
import { mergePayloads } from "../merge-payloads.ts";
import type { RunPricesOfTenant } from "../run-writer-dependencies.ts";
import { ModelTally } from "../usage/model-tally.ts";
import { measureNames } from "../usage/measures.ts";
import { createModelCallSql } from "../usage/run-cost.ts";
import type { RecomputeProgress } from "../usage/run-cost.ts";
import { readReportedUsage } from "../usage/run-measures.ts";
import { usageCosts } from "../usage/usage-sources.ts";
import { parseRow, runColumnNames } from "./run-columns.ts";
import type { RunColumnValues } from "./run-columns.ts";
import { copiedRunsPlace, lastPlaceSql } from "./run-places.ts";
import type { RunRows } from "./run-rows.ts";

/** Maximum number of runs that one query returns: the time is checked after each query. */
const runsPerScan = 100;

/** Computes the costs of stored runs again, in the order in which the runs were stored. */
export class PostgresCostRecomputer {
  readonly #db: PostgresDatabase;
  readonly #rows: RunRows;
  readonly #prices: RunPricesOfTenant;

  constructor(db: PostgresDatabase, rows: RunRows, prices: RunPricesOfTenant) {
    this.#db = db;
    this.#rows = rows;
    this.#prices = prices;
  }

  /** Continues after `progress.position`, until `serverLimits.writeSliceMs` have passed or all runs are examined. */
  async recomputeSome(tenantId: string, progress: RecomputeProgress): Promise<RecomputeProgress> {
    const endMs = performance.now() + serverLimits.writeSliceMs;
    await this.#prices.read(tenantId);
    const last = await this.#findLast();
    const models = new ModelTally(progress.unknownModels);
    let { position, examined, changed, unreadable } = progress;
    while (position < last && performance.now() < endMs) {
      const rows = await this.#list(tenantId, position, last);
      position = rows.length < runsPerScan ? last : (rows.at(-1)?.place ?? last);
      const changes = await this.#recompute(tenantId, rows, models);
      examined += rows.length;
      changed += changes.changed;
      unreadable += changes.unreadable;
    }
    return {
      position,
      last,
      isDone: position >= last,
      examined,
      changed,
      unreadable,
      unknownModels: models.counts,
    };
  }

  async #findLast(): Promise<number> {
    const { rows } = await this.#db.query<{ readonly last: number }>(
      `SELECT ${lastPlaceSql} AS last`,
    );
    return rows[0]?.last ?? 0;
  }

  async #list(tenantId: string, position: number, last: number): Promise<readonly PlacedRow[]> {
    const { rows } = await this.#db.query<PlacedRow>(
      `SELECT place, ${runColumnNames.join(", ")} FROM runs
       WHERE place > $1::bigint AND place <= $2::bigint AND tenant_id = $3 AND ${createModelCallSql("run_type")} AND measured = 2
       ORDER BY place LIMIT ${runsPerScan}`,
      // Position 0 means that nothing was examined yet. Begin before it then, because runs that were copied from
      // another database have negative places.
      [position === 0 ? copiedRunsPlace : position, last, tenantId],
    );
    return rows;
  }

  async #recompute(
    tenantId: string,
    listed: readonly PlacedRow[],
    models: ModelTally,
  ): Promise<{ readonly changed: number; readonly unreadable: number }> {
    // Lock the runs first: while a run is locked, no batch changes its usage.
    const stored = await this.#rows.lockStored(
      tenantId,
      listed.map(({ id }) => id),
    );
    const bodies = await this.#rows.readBodies(tenantId, [...stored.values()]);
    const updates: { readonly row: RunColumnValues; readonly values: readonly unknown[] }[] = [];
    let unreadable = 0;
    for (const row of listed) {
      const reported = readReportedUsage(
        mergePayloads(
          (bodies.get(row.id) ?? [])
            .toSorted((left, right) => Number(left.isPatch) - Number(right.isPatch))
            .map(({ body }) => body),
        ),
        { withBilling: true },
      );
      if (reported === undefined) {
        unreadable += 1;
        continue;
      }
      const { measures, basisJson, unknownModel } = this.#prices.price(
        tenantId,
        parseRow(row),
        reported,
      );
      if (unknownModel !== undefined) {
        models.add(unknownModel);
      }
      const isChanged =
        usageCosts.some((name) => measures[name] !== row[name]) || basisJson !== row.cost_json;
      if (isChanged) {
        updates.push({ row, values: [...measureNames.map((name) => measures[name]), basisJson] });
      }
    }
    for (const { row, values } of updates) {
      await this.#db.query(updateSql, [tenantId, row.root_us, row.trace_id, row.id, ...values]);
    }
    return { changed: updates.length, unreadable };
  }
}

interface PlacedRow extends RunColumnValues {
  readonly place: number;
}

const updateSql = `UPDATE runs SET ${[...measureNames, "cost_json"]
  .map((name, index) => `${name} = $${index + 5}`)
  .join(", ")}, changed = pg_current_xact_id()::text::bigint
  WHERE tenant_id = $1 AND root_us = $2 AND trace_id = $3 AND id = $4`;

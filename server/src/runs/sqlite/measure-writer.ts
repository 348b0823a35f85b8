import { mergePayloads } from "../merge-payloads.ts";
import { isModelCall } from "../usage/run-cost.ts";
import type { PricedUsage, ReportedUsage } from "../usage/run-cost.ts";
import { addExtraBilling } from "../usage/run-billing.ts";
import { readExtraBilling, readReportedUsage } from "../usage/run-measures.ts";
import type { RunRecord } from "../run-record.ts";
import type { RunRow } from "../run-row.ts";
import type { RunPrices } from "../run-writer-dependencies.ts";
import { usageCosts } from "../usage/usage-sources.ts";
import { PayloadReader } from "./payload-reader.ts";
import { measureColumns, measuresToValues } from "./run-columns.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";

/** The result of computing the cost of a stored run again. */
export interface RecomputeResult {
  readonly kind: "changed" | "unchanged" | "unreadable";
  readonly unknownModel?: string;
}

/** Updates the measures of runs, and the costs that are computed from them. */
export class MeasureWriter {
  readonly #payloads: PayloadReader;
  readonly #prices: RunPrices;
  readonly #updateRun;

  constructor(db: Connection, prices: RunPrices) {
    this.#payloads = new PayloadReader(db);
    this.#prices = prices;
    const assignments = measureColumns.map((name) => `${name} = ?`).join(", ");
    this.#updateRun = db.prepare(`UPDATE runs SET ${assignments} WHERE trace_id = ? AND id = ?`);
  }

  /**
   * Must be called after another record of an existing run was stored. The payloads are read only if necessary: most
   * runs have no measures, and if the run had none before, the patch contains all of them. Returns the usage of the
   * run; `undefined` if it has none.
   */
  update(
    tenantId: string,
    record: RunRecord,
    { previous, row }: { readonly previous: RunRow; readonly row: RunRow },
  ): PricedUsage | undefined {
    const hadNoMeasures = previous.measureState === "none";
    if (hadNoMeasures && record.measures === undefined) {
      return undefined;
    }
    const isComplete = hadNoMeasures && record.operation === "patch";
    const usage = isComplete ? this.#completeModel(record, previous, row) : this.#readUsage(row);
    const priced = usage && this.#prices.price(tenantId, row, usage);
    this.#updateRun.run([...measuresToValues(priced), row.traceId, row.id]);
    return priced;
  }

  /**
   * Returns the usage of a record that contains all measures of its run. The model may be named by an earlier record.
   * Usually the only earlier record is the post, and only the model in its `extra` is read.
   */
  #completeModel(record: RunRecord, previous: RunRow, row: RunRow): ReportedUsage | undefined {
    const { measures, billing } = record;
    if (measures === undefined || billing === undefined || !mayLackModel(record, row)) {
      return toReportedUsage(record);
    }
    if (previous.patchBits !== 0) {
      return this.#readUsage(row);
    }
    const extra = mergePayloads(this.#payloads.readPost(row), extraOnly).get("extra");
    return { measures, billing: addExtraBilling(billing, readExtraBilling(extra)) };
  }

  /**
   * Computes the usage and the cost of a stored run again, and stores them if they differ. `storedCost` contains the
   * values of `costColumns`. Nothing is stored if the payload that contains the usage can't be read.
   */
  recompute(tenantId: string, row: RunRow, storedCost: readonly unknown[]): RecomputeResult {
    const usage = this.#readUsage(row);
    if (usage === undefined) {
      return { kind: row.measureState === "some" ? "unreadable" : "unchanged" };
    }
    const priced = this.#prices.price(tenantId, row, usage);
    const { measures, basisJson, unknownModel } = priced;
    const model = unknownModel === undefined ? {} : { unknownModel };
    const [, ...costs] = storedCost;
    const newCosts = [...usageCosts.map((name) => measures[name]), basisJson];
    if (newCosts.every((value, index) => value === costs[index])) {
      return { kind: "unchanged", ...model };
    }
    this.#updateRun.run([...measuresToValues(priced), row.traceId, row.id]);
    return { kind: "changed", ...model };
  }

  #readUsage(row: RunRow): ReportedUsage | undefined {
    return readReportedUsage(mergePayloads(this.#payloads.read(row)), { withBilling: true });
  }
}

const extraOnly: ReadonlySet<string> = new Set(["extra"]);

/** Whether the model of a run may be named only by an earlier record of the run, and is needed for its cost. */
const mayLackModel = ({ hasExtra = false, measures }: RunRecord, row: RunRow): boolean =>
  !hasExtra && measures?.total_cost === null && isModelCall(row.runType);

export const toReportedUsage = ({ measures, billing }: RunRecord): ReportedUsage | undefined =>
  measures && { measures, billing };

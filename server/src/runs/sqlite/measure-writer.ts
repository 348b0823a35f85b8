import { mergePayloads } from "../payload.ts";
import { readMeasures } from "../run-measures.ts";
import type { RunRecord } from "../run-record.ts";
import type { RunRow } from "../run-row.ts";
import { PayloadReader } from "./payload-reader.ts";
import { measureColumns, measuresToValues } from "./row.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";

/** Updates the measures of runs. */
export class MeasureWriter {
  readonly #payloads: PayloadReader;
  readonly #update;

  constructor(db: Connection) {
    this.#payloads = new PayloadReader(db);
    const assignments = measureColumns.map((name) => `${name} = ?`).join(", ");
    this.#update = db.prepare(`UPDATE runs SET ${assignments} WHERE trace_id = ? AND id = ?`);
  }

  /**
   * Must be called after another record of an existing run was stored. The payloads are read only if necessary: most
   * runs have no measures, and if the run had none before, the patch contains all of them.
   */
  add({ operation, measures }: RunRecord, previous: RunRow, row: RunRow): void {
    const hadNoMeasures = previous.measureState === "none";
    if (hadNoMeasures && measures === undefined) {
      return;
    }
    const isComplete = hadNoMeasures && operation === "patch";
    const mergedMeasures = isComplete
      ? measures
      : readMeasures(mergePayloads(this.#payloads.read(row)));
    this.#update.run([...measuresToValues(mergedMeasures), row.traceId, row.id]);
  }
}

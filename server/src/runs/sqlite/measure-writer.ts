import { mergePayloads } from "../payload.ts";
import { readMeasures } from "../run-measures.ts";
import type { RunRecord } from "../run-record.ts";
import type { RunRow } from "../run-row.ts";
import { PayloadReader } from "./payload-reader.ts";
import { measureColumns, measuresToValues } from "./row.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";

/** Keeps the measures of runs. */
export class MeasureWriter {
  readonly #payloads: PayloadReader;
  readonly #update;

  constructor(db: Connection) {
    this.#payloads = new PayloadReader(db);
    const assignments = measureColumns.map((name) => `${name} = ?`).join(", ");
    this.#update = db.prepare(`UPDATE runs SET ${assignments} WHERE trace_id = ? AND id = ?`);
  }

  /**
   * After one more record of a known run was stored. The payloads are read only where it takes them to
   * know: most runs have no measures, and a patch wins over all that came before it.
   */
  add({ operation, measures }: RunRecord, known: RunRow, row: RunRow): void {
    const hadNone = known.measures === "none";
    if (hadNone && measures === undefined) {
      return;
    }
    const isAlone = hadNone && operation === "patch";
    const found = isAlone ? measures : readMeasures(mergePayloads(this.#payloads.read(row)));
    this.#update.run([...measuresToValues(found), row.traceId, row.id]);
  }
}

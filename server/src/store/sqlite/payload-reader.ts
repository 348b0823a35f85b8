import { parseRows } from "./row.ts";
import type { Connection } from "./schema.ts";

/** Reads what runs hold. */
export class PayloadReader {
  readonly #select;

  constructor(db: Connection) {
    // A blob, since SQLite's texts reach JavaScript cut at a NUL and without lone surrogates.
    this.#select = db
      .prepare(
        "SELECT CAST(body AS BLOB) FROM payloads WHERE trace_id = ? AND id = ? ORDER BY digest <> '', rowid",
      )
      .raw();
  }

  /** The post's payload, then the patches' as they came: later ones win. */
  read({ traceId, id }: { readonly traceId: string; readonly id: string }): Buffer[] {
    return parseRows(this.#select.all([traceId, id])).map(([body]) => toBuffer(body));
  }
}

/** A blob reaches us as a Buffer or an ArrayBuffer, by how its row is read; as text it would lose bytes. */
export function toBuffer(value: unknown): Buffer {
  if (Buffer.isBuffer(value)) {
    return value;
  }
  return value instanceof ArrayBuffer ? Buffer.from(value) : Buffer.from(String(value));
}

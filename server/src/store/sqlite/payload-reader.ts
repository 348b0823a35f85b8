import { parseRows } from "./row.ts";
import type { Connection } from "./schema.ts";

/** The key of a run. */
interface RunKey {
  readonly traceId: string;
  readonly id: string;
}

/** Reads what runs hold. */
export class PayloadReader {
  readonly #select;
  readonly #selectMany;

  constructor(db: Connection) {
    // A blob, since SQLite's texts reach JavaScript cut at a NUL and without lone surrogates.
    this.#select = db
      .prepare(
        "SELECT CAST(body AS BLOB) FROM payloads WHERE trace_id = ? AND id = ? ORDER BY digest <> '', rowid",
      )
      .raw();
    // Not sorted there, where it would copy the bodies.
    this.#selectMany = db
      .prepare(
        `SELECT j.key, p.digest <> '', p.rowid, CAST(p.body AS BLOB) FROM json_each(?) j
         CROSS JOIN payloads p ON p.trace_id = j.value ->> 0 AND p.id = j.value ->> 1`,
      )
      .raw();
  }

  /** The post's payload, then the patches' as they came: later ones win. */
  read({ traceId, id }: RunKey): Buffer[] {
    return parseRows(this.#select.all([traceId, id])).map(([body]) => toBuffer(body));
  }

  /** As {@link PayloadReader.read}, of each run in this order: one question takes a third of what one each take. */
  readMany(keys: readonly RunKey[]): Buffer[][] {
    if (keys.length === 1) {
      return keys.map((key) => this.read(key));
    }
    const found: Payload[][] = keys.map(() => []);
    for (const [key, isPatch, row, body] of parseRows(this.#selectMany.all([toPairs(keys)]))) {
      found[Number(key)]?.push({ place: [Number(isPatch), Number(row)], body: toBuffer(body) });
    }
    return found.map((own) => own.toSorted(byPlace).map(({ body }) => body));
  }
}

/** Keys of runs as one value that is bound: a JSON list of pairs. */
export const toPairs = (keys: readonly RunKey[]): string =>
  JSON.stringify(keys.map(({ traceId, id }) => [traceId, id]));

interface Payload {
  /** Whether it is a patch's, and in which order it came. */
  readonly place: readonly [number, number];
  readonly body: Buffer;
}

const byPlace = (one: Payload, other: Payload): number =>
  one.place[0] - other.place[0] || one.place[1] - other.place[1];

/** A blob reaches us as a Buffer or an ArrayBuffer, by how its row is read; as text it would lose bytes. */
export function toBuffer(value: unknown): Buffer {
  if (Buffer.isBuffer(value)) {
    return value;
  }
  return value instanceof ArrayBuffer ? Buffer.from(value) : Buffer.from(String(value));
}

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
  readonly #selectLong;

  constructor(db: Connection) {
    // A blob, since SQLite's texts reach JavaScript cut at a NUL and without lone surrogates.
    this.#select = db
      .prepare(
        "SELECT CAST(body AS BLOB) FROM payloads WHERE trace_id = ? AND id = ? ORDER BY digest <> '', rowid",
      )
      .raw();
    // Handing ten thousand rows over takes twice as long as finding them: short bodies come as one.
    this.#selectMany = db
      .prepare(
        `SELECT json_group_array(json_array(key, is_patch, row, size)), CAST(group_concat(short, '') AS BLOB)
         FROM (
           SELECT j.key, p.digest <> '' AS is_patch, p.rowid AS row, octet_length(p.body) AS size,
             CASE WHEN octet_length(p.body) <= ${shortBytes} THEN p.body END AS short
           FROM json_each(?) j CROSS JOIN runs r ON r.rowid = j.value
             CROSS JOIN payloads p ON p.trace_id = r.trace_id AND p.id = r.id
         )`,
      )
      .raw();
    this.#selectLong = db.prepare("SELECT CAST(body AS BLOB) FROM payloads WHERE rowid = ?").raw();
  }

  /** The post's payload, then the patches' as they came: later ones win. */
  read({ traceId, id }: RunKey): Buffer[] {
    return parseRows(this.#select.all([traceId, id])).map(([body]) => toBuffer(body));
  }

  /**
   * As {@link PayloadReader.read}, of each run in this order, by the numbers of their rows: one question takes a
   * third of what one each take.
   */
  readMany(rowIds: readonly number[]): Buffer[][] {
    const found: Payload[][] = rowIds.map(() => []);
    const [[places, short] = []] = parseRows(this.#selectMany.all([JSON.stringify(rowIds)]));
    const bytes = short === null ? Buffer.alloc(0) : toBuffer(short);
    let at = 0;
    for (const [key, isPatch, row, size] of JSON.parse(String(places)) as Place[]) {
      const isShort = size <= shortBytes;
      const bodies = isShort ? [bytes.subarray(at, at + size)] : this.#readLong(row);
      at += isShort ? size : 0;
      found[key]?.push(...bodies.map((body) => ({ order: [isPatch, row], body }) as const));
    }
    return found.map((own) =>
      (own.length > 1 ? own.toSorted(byOrder) : own).map(({ body }) => body),
    );
  }

  /** None where it was deleted meanwhile. */
  #readLong(row: number): Buffer[] {
    return parseRows(this.#selectLong.all([row])).map(([body]) => toBuffer(body));
  }
}

/** A longer body is read by itself: joining it to others would copy it. */
const shortBytes = 16_384;

/** Which run a body is of, whether it is a patch's, its row, its bytes. */
type Place = readonly [key: number, isPatch: number, row: number, size: number];

interface Payload {
  /** Whether it is a patch's, and in which order it came. */
  readonly order: readonly [number, number];
  readonly body: Buffer;
}

const byOrder = (one: Payload, other: Payload): number =>
  one.order[0] - other.order[0] || one.order[1] - other.order[1];

/** A blob reaches us as bytes; as text it would lose some. */
export const toBuffer = (value: unknown): Buffer =>
  value instanceof Uint8Array
    ? Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    : Buffer.from(String(value));

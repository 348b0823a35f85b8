import { patchUnit } from "../merge.ts";
import { isSound, reportDamage } from "../../storage/sqlite/checksum.ts";
import { parseRows } from "../../storage/sqlite/rows.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";

/** The key of a run. */
interface RunKey {
  readonly traceId: string;
  readonly id: string;
}

/** A run by its row. */
interface RunRef {
  readonly rowId: number;
  readonly id: string;
}

/**
 * The placeholder in a list for a payload that is damaged on disk, so that its neighbours are served and it is not mistaken for
 * a missing payload.
 */
export const damagedBodies: readonly Buffer[] = [
  Buffer.from(
    JSON.stringify(
      Object.fromEntries(
        ["inputs", "outputs"].map((name) => [
          name,
          {
            millrace_damaged:
              "damaged on disk: what is stored does not match its checksum; restore a backup of the data folder",
          },
        ]),
      ),
    ),
  ),
];

/** Reads what runs hold. */
export class PayloadReader {
  readonly #select;
  readonly #selectMany;
  readonly #selectLong;
  readonly #findRow;

  constructor(db: Connection) {
    // A blob, since SQLite's texts reach JavaScript cut at a NUL and without lone surrogates.
    this.#select = db
      .prepare(
        "SELECT CAST(body AS BLOB), checksum FROM payloads WHERE trace_id = ? AND id = ? ORDER BY digest <> '', rowid",
      )
      .raw();
    // Handing ten thousand rows over takes twice as long as finding them: short bodies come as one.
    this.#selectMany = db
      .prepare(
        `SELECT json_group_array(json_array(key, id, posted, patched, is_patch, row, size, checksum)),
           CAST(group_concat(short, '') AS BLOB)
         FROM (
           SELECT j.key, r.id, r.posted, max(r.patched / ${patchUnit}, r.patched <> 0) AS patched, p.digest <> '' AS is_patch, p.rowid AS row,
             octet_length(p.body) AS size, p.checksum,
             CASE WHEN octet_length(p.body) <= ${shortBytes} THEN p.body END AS short
           FROM json_each(?) j CROSS JOIN runs r ON r.rowid = j.value
             LEFT JOIN payloads p ON p.trace_id = r.trace_id AND p.id = r.id
         )`,
      )
      .raw();
    this.#selectLong = db.prepare("SELECT CAST(body AS BLOB) FROM payloads WHERE rowid = ?").raw();
    this.#findRow = db.prepare("SELECT rowid FROM runs WHERE id = ?").raw();
  }

  /**
   * The post's payload, then the patches' as they came: later ones win. For who writes, and goes on with the rest
   * where some are damaged.
   */
  read({ traceId, id }: RunKey): Buffer[] {
    return parseRows(this.#select.all([traceId, id])).flatMap(([value, checksum]) => {
      const body = toBuffer(value);
      return isSound(checksum, body, id) ? [body] : [];
    });
  }

  /**
   * As {@link PayloadReader.read}, of each run in this order: one question takes a third of what one each take.
   * {@link damagedBodies} where a checksum does not match, or a payload that was received is not found.
   *
   * @param bytesMax - after so many bytes no further run is read: the answer is of the first runs.
   */
  readMany(
    all: readonly RunRef[],
    bytesMax: number = Number.POSITIVE_INFINITY,
  ): (readonly Buffer[])[] {
    const rowIds = JSON.stringify(all.map(({ rowId }) => rowId));
    const [[json, short] = []] = parseRows(this.#selectMany.all([rowIds]));
    const places = JSON.parse(String(json)) as PayloadPosition[];
    const runs = all.slice(0, countWithin(places, bytesMax));
    const found: Payload[][] = runs.map(() => []);
    const due = runs.map((): Due => ({ id: undefined, posted: 0, patched: 0 }));
    const bytes = short === null ? Buffer.alloc(0) : toBuffer(short);
    let at = 0;
    for (const place of places) {
      const [key, id, posted, patched, isPatch, row, size, checksum] = place;
      if (key >= runs.length) {
        break;
      }
      due[key] = { id, posted, patched };
      if (row === null || size === null) {
        continue;
      }
      const isShort = size <= shortBytes;
      const bodies = isShort ? [bytes.subarray(at, at + size)] : this.#readLong(row);
      at += isShort ? size : 0;
      found[key]?.push(...bodies.map((body) => ({ isPatch, row, checksum, body })));
    }
    return runs.map(({ id }, index) => {
      const own = found[index] ?? [];
      const row = due[index];
      if (row?.id === undefined || (row.id !== id && !this.#isAt(runs[index]))) {
        return []; // It was deleted meanwhile, or has another id, and its row may be another run's.
      }
      if (row.id !== id || !isWhole(id, own, row)) {
        reportDamage(`run ${id}`);
        return damagedBodies;
      }
      return (own.length > 1 ? own.toSorted(byOrder) : own).map(({ body }) => body);
    });
  }

  /** Whether the index still leads to that row: the row then should have the id. */
  #isAt(run: RunRef | undefined): boolean {
    return parseRows(this.#findRow.all([run?.id])).some(([rowId]) => rowId === run?.rowId);
  }

  /** None where it was deleted meanwhile. */
  #readLong(row: number): Buffer[] {
    return parseRows(this.#selectLong.all([row])).map(([body]) => toBuffer(body));
  }
}

/** A longer body is read by itself: joining it to others would copy it. */
const shortBytes = 16_384;

/** Of a payload, or of a run without one: the run's place among those asked for, then its row, then the payload's. */
type PayloadPosition = readonly [
  key: number,
  id: string,
  posted: number,
  patched: number,
  isPatch: number,
  row: number | null,
  size: number | null,
  checksum: number | null,
];

/** How many runs of the first are read: none after so many bytes; `undefined` for all of them. */
function countWithin(places: readonly PayloadPosition[], bytesMax: number): number | undefined {
  let bytes = 0;
  let last = 0;
  for (const [key, , , , , , size] of places) {
    if (key !== last && bytes > bytesMax) {
      return key;
    }
    last = key;
    bytes += size ?? 0;
  }
  return undefined;
}

/** The columns of a run that describe its payloads. */
interface Due {
  /** None where the row has gone meanwhile. */
  readonly id: string | undefined;
  readonly posted: number;
  /** At least so many patches: an earlier version did not count them. */
  readonly patched: number;
}

interface Payload {
  /** Whether it is a patch's, and in which order it came. */
  readonly isPatch: number;
  readonly row: number;
  readonly checksum: number | null;
  readonly body: Buffer;
}

/** Whether no payload of a run is missing, changed or another run's. */
const isWhole = (id: string, found: readonly Payload[], { posted, patched }: Due): boolean =>
  (posted === 0 || found.some(({ isPatch }) => isPatch === 0)) &&
  found.filter(({ isPatch }) => isPatch === 1).length >= patched &&
  found.every(({ checksum, body }) => isSound(checksum, body, id));

const byOrder = (one: Payload, other: Payload): number =>
  one.isPatch - other.isPatch || one.row - other.row;

/** A blob reaches us as bytes; as text it would lose some. */
export const toBuffer = (value: unknown): Buffer =>
  value instanceof Uint8Array
    ? Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    : Buffer.from(String(value));

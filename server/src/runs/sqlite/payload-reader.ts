import { payloadBytesSql } from "../../storage/payload-bytes.ts";
import { patchUnit } from "../merge.ts";
import { isIntact, reportDamage } from "../../storage/sqlite/checksum.ts";
import { parseRows } from "../../storage/sqlite/rows.ts";
import { payloadTextSql } from "../shared-texts/sqlite-shared-texts.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";

interface RunKey {
  readonly traceId: string;
  readonly id: string;
}

/** Identifies a run by the number of its row. */
interface RunReference {
  readonly rowId: number;
  readonly id: string;
}

/**
 * Returned in place of payloads that are damaged on disk. Other runs can still be returned, and a damaged payload is
 * not mistaken for a missing one.
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

const selectIntact = (rows: readonly unknown[], id: string): Buffer[] =>
  parseRows(rows).flatMap(([value, checksum]) => {
    const body = toBuffer(value);
    return isIntact(checksum, body, id) ? [body] : [];
  });

/** Reads the payloads of runs, and detects payloads that are damaged or missing. */
export class PayloadReader {
  readonly #select;
  readonly #selectPost;
  readonly #selectMany;
  readonly #selectLong;
  readonly #findRow;

  constructor(db: Connection) {
    // Select the text as a blob, because SQLite returns text only up to a NUL, and without lone surrogates.
    this.#select = db
      .prepare(
        `SELECT CAST(${payloadTextSql} AS BLOB), checksum FROM payloads p
         WHERE trace_id = ? AND id = ? ORDER BY digest <> '', rowid`,
      )
      .raw();
    this.#selectPost = db
      .prepare(
        `SELECT CAST(${payloadTextSql} AS BLOB), checksum FROM payloads p
         WHERE trace_id = ? AND id = ? AND digest = ''`,
      )
      .raw();
    // Passing ten thousand rows to JavaScript takes twice as long as finding them, so short payloads are concatenated
    // into one value.
    this.#selectMany = db
      .prepare(
        `SELECT json_group_array(json_array(key, id, posted, patched, is_patch, row, size, checksum, is_short)),
           CAST(group_concat(short, '') AS BLOB)
         FROM (
           SELECT j.key, r.id, r.posted, max(r.patched / ${patchUnit}, r.patched <> 0) AS patched, p.digest <> '' AS is_patch, p.rowid AS row,
             ${payloadBytesSql} AS size, p.checksum,
             p.parts IS NULL AND octet_length(p.body) <= ${maxShortBytes} AS is_short,
             CASE WHEN p.parts IS NULL AND octet_length(p.body) <= ${maxShortBytes} THEN p.body END AS short
           FROM json_each(?) j CROSS JOIN runs r ON r.rowid = j.value
             LEFT JOIN payloads p ON p.trace_id = r.trace_id AND p.id = r.id
         )`,
      )
      .raw();
    this.#selectLong = db
      .prepare(`SELECT CAST(${payloadTextSql} AS BLOB) FROM payloads p WHERE rowid = ?`)
      .raw();
    this.#findRow = db.prepare("SELECT rowid FROM runs WHERE id = ?").raw();
  }

  /**
   * Returns the payloads of a run in ascending precedence: that of the post, then those of the patches in the order
   * received. Damaged payloads are left out, so that a writer can continue with the others.
   */
  read({ traceId, id }: RunKey): Buffer[] {
    return selectIntact(this.#select.all([traceId, id]), id);
  }

  /** Like {@link PayloadReader.read}, but returns only the payload of the post. */
  readPost({ traceId, id }: RunKey): Buffer[] {
    return selectIntact(this.#selectPost.all([traceId, id]), id);
  }

  /**
   * Like {@link PayloadReader.read}, for several runs in the given order: one query for all runs takes a third of the
   * time of one query per run. The result of a run is {@link damagedBodies} if a checksum does not match, or if a
   * payload that was received is missing.
   *
   * @param bytesMax - once payloads exceed this number of bytes, no more runs are read. The result then covers only
   * the first runs.
   */
  readMany(
    references: readonly RunReference[],
    bytesMax: number = Number.POSITIVE_INFINITY,
  ): (readonly Buffer[])[] {
    const rowIds = JSON.stringify(references.map(({ rowId }) => rowId));
    const [[positionsJson, shortBodies] = []] = parseRows(this.#selectMany.all([rowIds]));
    const positions = JSON.parse(String(positionsJson)) as PayloadPosition[];
    const runs = references.slice(0, countRunsWithin(positions, bytesMax));
    const payloadsByRun: Payload[][] = runs.map(() => []);
    const expectedByRun = runs.map((): ExpectedPayloads => ({
      id: undefined,
      posted: 0,
      patched: 0,
    }));
    const shortBytes = shortBodies === null ? Buffer.alloc(0) : toBuffer(shortBodies);
    let offset = 0;
    for (const position of positions) {
      const [key, id, posted, patched, isPatch, row, size, checksum, isShort] = position;
      if (key >= runs.length) {
        break;
      }
      expectedByRun[key] = { id, posted, patched };
      if (row === null || size === null) {
        continue;
      }
      const bodies =
        isShort === 1 ? [shortBytes.subarray(offset, offset + size)] : this.#readLong(row);
      offset += isShort === 1 ? size : 0;
      payloadsByRun[key]?.push(...bodies.map((body) => ({ isPatch, row, checksum, body })));
    }
    return runs.map(({ id }, index) => {
      const payloads = payloadsByRun[index] ?? [];
      const expectedPayloads = expectedByRun[index];
      if (
        expectedPayloads?.id === undefined ||
        (expectedPayloads.id !== id && !this.#isIndexedAt(runs[index]))
      ) {
        return []; // The run was deleted or got another id meanwhile, and its row may belong to another run.
      }
      if (expectedPayloads.id !== id || !isComplete(id, payloads, expectedPayloads)) {
        reportDamage(`run ${id}`);
        return damagedBodies;
      }
      return (payloads.length > 1 ? payloads.toSorted(compareOrder) : payloads).map(
        ({ body }) => body,
      );
    });
  }

  /** Whether the index on ids still finds the row by the run's id. If so, a row that contains another id is damaged. */
  #isIndexedAt(run: RunReference | undefined): boolean {
    return parseRows(this.#findRow.all([run?.id])).some(([rowId]) => rowId === run?.rowId);
  }

  /** Returns an empty list if the payload was deleted since the row was found. */
  #readLong(row: number): Buffer[] {
    return parseRows(this.#selectLong.all([row])).map(([body]) => toBuffer(body));
  }
}

/**
 * Longer payloads are read one by one, because concatenating them would copy them, and so are those that share texts
 * with others, because assembling them takes longer than a query.
 */
const maxShortBytes = 16_384;

/**
 * A payload that the query for many runs has found, or a run without payloads. `key` is the index of the run among the
 * requested runs, `row` the row number of the payload.
 */
type PayloadPosition = readonly [
  key: number,
  id: string,
  posted: number,
  patched: number,
  isPatch: number,
  row: number | null,
  size: number | null,
  checksum: number | null,
  /** 1 for a payload that is part of the concatenated value. */
  isShort: number,
];

/** Returns how many runs to read so that the byte limit is exceeded by one run at most; `undefined` for all runs. */
function countRunsWithin(
  positions: readonly PayloadPosition[],
  bytesMax: number,
): number | undefined {
  let bytes = 0;
  let lastKey = 0;
  for (const [key, , , , , , size] of positions) {
    if (key !== lastKey && bytes > bytesMax) {
      return key;
    }
    lastKey = key;
    bytes += size ?? 0;
  }
  return undefined;
}

/** The payloads that a run should have according to its row. */
interface ExpectedPayloads {
  /** `undefined` if the row was deleted since its number was found. */
  readonly id: string | undefined;
  readonly posted: number;
  /** Minimum number of patches. Earlier versions of the server did not count them. */
  readonly patched: number;
}

interface Payload {
  /** 1 for the payload of a patch, 0 for that of the post. */
  readonly isPatch: number;
  /** Row number of the payload. It increases in the order in which payloads were received. */
  readonly row: number;
  readonly checksum: number | null;
  readonly body: Buffer;
}

/** Whether all expected payloads of a run are present, undamaged and belong to this run. */
const isComplete = (
  id: string,
  found: readonly Payload[],
  { posted, patched }: ExpectedPayloads,
): boolean =>
  (posted === 0 || found.some(({ isPatch }) => isPatch === 0)) &&
  found.filter(({ isPatch }) => isPatch === 1).length >= patched &&
  found.every(({ checksum, body }) => isIntact(checksum, body, id));

const compareOrder = (one: Payload, other: Payload): number =>
  one.isPatch - other.isPatch || one.row - other.row;

/** Converts a value of a blob column to a buffer. A value of type text may have lost characters already. */
export const toBuffer = (value: unknown): Buffer =>
  value instanceof Uint8Array
    ? Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    : Buffer.from(String(value));

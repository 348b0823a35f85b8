import { createPayloadBytesSql } from "../../../storage/payload-bytes.ts";
import type { PostgresDatabase } from "../../../storage/postgres/postgres-database.ts";
import { decodeText } from "../../../storage/postgres/text-encoding.ts";
import { toIndexedText } from "../../indexed-text.ts";
import { createPayloadTextSql } from "../../shared-texts/postgres-shared-texts.ts";
import { runsPerBlock } from "./text-blocks.ts";
import type { TextCursor } from "./text-blocks.ts";
import { GramSet } from "./text-grams.ts";
import { textLockSql } from "./text-tables.ts";

/**
 * Maximum number of runs that one step indexes, and of the bytes of their payloads. A single run may exceed the bytes.
 */
const runsPerStep = 500;
const bytesPerStep = 4_194_304;

/**
 * Maximum number of characters of one block; its last run may exceed it. With more characters, most blocks would have
 * most trigrams.
 */
const charsPerBlock = 131_072;

/** Maximum number of deleted runs that one step removes, and of the blocks that it rewrites to remove them. */
const removalsPerStep = 500;
const removedBlocksPerStep = 16;

/** Determines when runs are indexed. */
export interface IndexTimes {
  /** Milliseconds for which a run must not have changed: most runs are patched soon after their start. */
  readonly settleMs: number;
  /** Number of waiting runs at which a step begins: with fewer runs, blocks would be small. */
  readonly minRuns: number;
  /** Milliseconds after which a step begins even with fewer runs. */
  readonly maxWaitMs: number;
}

const defaultTimes: IndexTimes = { settleMs: 5_000, minRuns: 2_000, maxWaitMs: 600_000 };

/** The columns of a run that the indexer reads. */
interface IndexedRun extends TextCursor {
  readonly tenant_id: string;
  readonly project_id: string;
  readonly root_us: number;
  readonly trace_id: string;
  readonly id: string;
  readonly start_us: number;
  readonly name: string;
  readonly bytes: number | null;
}

/** Fills the text index (`text-tables.ts`) in the background. */
export class TextIndexer {
  readonly #db: PostgresDatabase;
  readonly #times: IndexTimes;
  /** All transactions before this one had ended at `atMs`, so that their runs are visible. */
  #ended: { readonly transaction: number; readonly atMs: number } | undefined;
  #waitingSinceMs = performance.now();
  /** Whether the last step has left runs that can be indexed immediately. */
  #hasMore = false;

  constructor(db: PostgresDatabase, times: IndexTimes = defaultTimes) {
    this.#db = db;
    this.#times = times;
  }

  /**
   * Performs a step in the transaction of the caller, whose isolation level must be READ COMMITTED. Returns whether the
   * step has done anything.
   */
  async step(): Promise<boolean> {
    // Only one server indexes at a time: otherwise a deletion could miss a block that another server is about to store.
    await this.#db.query(textLockSql);
    return (await this.#removeDeleted()) || this.#indexNew();
  }

  /** Rewrites the blocks that contain deleted runs, without them. */
  async #removeDeleted(): Promise<boolean> {
    const { rows: removals } = await this.#db.query<RemovedRun>(
      `SELECT tenant_id, place::text AS place FROM text_removals ORDER BY tenant_id, place LIMIT ${removalsPerStep}`,
    );
    const tenantId = removals[0]?.tenant_id;
    if (tenantId === undefined) {
      return false;
    }
    const places = removals.flatMap((row) => (row.tenant_id === tenantId ? [row.place] : []));
    const { rows: blocks } = await this.#db.query<{ readonly places: readonly string[] }>(
      `DELETE FROM run_texts WHERE owner_id = $1 AND id IN (
         SELECT id FROM run_texts WHERE owner_id = $1 AND places && $2::bigint[] LIMIT ${removedBlocksPerStep})
       RETURNING places::text[] AS places`,
      [tenantId, places],
    );
    const removed = new Set(places);
    const left = blocks.flatMap((block) => block.places).filter((place) => !removed.has(place));
    await this.#indexAgain(tenantId, left);
    if (blocks.length < removedBlocksPerStep) {
      await this.#db.query(
        "DELETE FROM text_removals WHERE tenant_id = $1 AND place = ANY($2::bigint[])",
        [tenantId, places],
      );
    }
    return true;
  }

  async #indexAgain(tenantId: string, places: readonly string[]): Promise<void> {
    const { rows } = await this.#db.query<IndexedRun>(
      `SELECT ${runColumns} FROM runs r WHERE r.tenant_id = $1 AND r.place = ANY($2::bigint[])`,
      [tenantId, places],
    );
    for (let rest: readonly IndexedRun[] = rows; rest.length > 0;) {
      const count = countReadable(rest);
      await this.#store(rest.slice(0, count));
      rest = rest.slice(count);
    }
  }

  /** Indexes runs that were added or changed. */
  async #indexNew(): Promise<boolean> {
    const { rows } = await this.#db.query<TextCursor & { readonly ended: number }>(
      "SELECT changed, place, pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS ended FROM text_cursor",
    );
    const [cursor] = rows;
    if (cursor === undefined) {
      return false;
    }
    const before = this.#findSettled(cursor.ended);
    if (before === undefined || !(await this.#isDue(cursor, before))) {
      return false;
    }
    const { rows: runs } = await this.#db.query<IndexedRun>(
      `SELECT ${runColumns} FROM runs r WHERE (r.changed, r.place) > ($1::bigint, $2::bigint) AND r.changed < $3::bigint
       ORDER BY r.changed, r.place LIMIT ${runsPerStep}`,
      [cursor.changed, cursor.place, before],
    );
    const read = runs.slice(0, countReadable(runs));
    const last = read.at(-1);
    this.#hasMore =
      last !== undefined && (read.length < runs.length || runs.length === runsPerStep);
    this.#waitingSinceMs = performance.now();
    if (last === undefined) {
      return false;
    }
    await this.#store(read);
    await this.#db.query("UPDATE text_cursor SET changed = $1::bigint, place = $2::bigint", [
      last.changed,
      last.place,
    ]);
    return true;
  }

  /**
   * Returns the transaction before which all transactions ended at least `settleMs` ago; `undefined` if there is
   * nothing new to index yet.
   */
  #findSettled(ended: number): number | undefined {
    const nowMs = performance.now();
    const earlier = this.#ended;
    if (earlier !== undefined && nowMs - earlier.atMs < this.#times.settleMs) {
      return this.#hasMore ? this.#settled : undefined;
    }
    this.#ended = { transaction: ended, atMs: nowMs };
    this.#settled = this.#times.settleMs === 0 ? ended : earlier?.transaction;
    return this.#settled;
  }

  /** The last transaction that `#findSettled` determined. */
  #settled: number | undefined;

  /** Whether enough runs wait to be indexed, or any have waited for long enough. */
  async #isDue(cursor: TextCursor, before: number): Promise<boolean> {
    const { minRuns, maxWaitMs } = this.#times;
    if (this.#hasMore || performance.now() - this.#waitingSinceMs > maxWaitMs) {
      return true;
    }
    const { rows } = await this.#db.query<{ readonly waiting: number }>(
      `SELECT count(*) AS waiting FROM (SELECT FROM runs r WHERE (r.changed, r.place) > ($1::bigint, $2::bigint)
         AND r.changed < $3::bigint LIMIT $4::int) b`,
      [cursor.changed, cursor.place, before, minRuns],
    );
    return (rows[0]?.waiting ?? 0) >= minRuns;
  }

  /** Adds these runs to the index, in new blocks. */
  async #store(runs: readonly IndexedRun[]): Promise<void> {
    const bodies = await this.#readBodies(runs);
    for (const projectRuns of groupByProject(runs)) {
      let block: IndexedRun[] = [];
      let grams = new GramSet();
      let chars = 0;
      for (const run of projectRuns) {
        const text = toIndexedText(decodeText(run.name), bodies.get(toKey(run)) ?? []);
        grams.add(text);
        block.push(run);
        chars += text.length;
        if (block.length === runsPerBlock || chars > charsPerBlock) {
          await this.#insert(block, grams);
          block = [];
          grams = new GramSet();
          chars = 0;
        }
      }
      await this.#insert(block, grams);
    }
  }

  async #insert(runs: readonly IndexedRun[], grams: GramSet): Promise<void> {
    const [first] = runs;
    if (first === undefined) {
      return;
    }
    await this.#db.query(
      `INSERT INTO run_texts (owner_id, project_id, first_us, last_us, places, grams)
       SELECT p.tenant_id, p.id, $3::bigint, $4::bigint, $5::bigint[], $6::smallint[] FROM projects p
       WHERE p.tenant_id = $1 AND p.id = $2`,
      [
        first.tenant_id,
        first.project_id,
        first.start_us,
        runs.at(-1)?.start_us,
        runs.map(({ place }) => place),
        grams.list(),
      ],
    );
  }

  async #readBodies(runs: readonly IndexedRun[]): Promise<ReadonlyMap<string, readonly string[]>> {
    const { rows } = await this.#db.query<{
      readonly tenant_id: string;
      readonly id: string;
      readonly body: string;
    }>(
      `SELECT p.tenant_id, p.id, ${createPayloadTextSql("p")} AS body FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[]) i (tenant_id, root_us, trace_id, id)
       JOIN payloads p ON p.tenant_id = i.tenant_id AND p.root_us = i.root_us AND p.trace_id = i.trace_id AND p.id = i.id`,
      [
        runs.map((run) => run.tenant_id),
        runs.map((run) => run.root_us),
        runs.map((run) => run.trace_id),
        runs.map(({ id }) => id),
      ],
    );
    const bodies = new Map<string, string[]>();
    for (const row of rows) {
      const list = bodies.get(toKey(row)) ?? [];
      bodies.set(toKey(row), list);
      list.push(row.body);
    }
    return bodies;
  }
}

/** The runs of each project, in the order of their starts. */
function groupByProject(runs: readonly IndexedRun[]): Iterable<readonly IndexedRun[]> {
  const groups = new Map<string, IndexedRun[]>();
  for (const run of runs.toSorted((a, b) => a.start_us - b.start_us)) {
    const key = JSON.stringify([run.tenant_id, run.project_id]);
    const group = groups.get(key) ?? [];
    groups.set(key, group);
    group.push(run);
  }
  return groups.values();
}

interface RemovedRun {
  readonly tenant_id: string;
  readonly place: string;
}

const toKey = (run: { readonly tenant_id: string; readonly id: string }): string =>
  `${run.tenant_id} ${run.id}`;

/**
 * Returns how many of the runs, beginning with the first, one step can read without exceeding `bytesPerStep`; at least
 * one.
 */
function countReadable(runs: readonly IndexedRun[]): number {
  let bytes = 0;
  const end = runs.findIndex((run) => {
    bytes += run.bytes ?? 0;
    return bytes > bytesPerStep;
  });
  return end === -1 ? runs.length : Math.max(1, end);
}

/** PostgreSQL determines `bytes` without decompressing the payloads. */
const runColumns = `r.tenant_id, r.project_id, r.root_us, r.trace_id, r.id, r.start_us, r.name, r.place, r.changed,
  (SELECT sum(${createPayloadBytesSql("p")}) FROM payloads p
    WHERE p.tenant_id = r.tenant_id AND p.root_us = r.root_us AND p.trace_id = r.trace_id AND p.id = r.id) AS bytes`;

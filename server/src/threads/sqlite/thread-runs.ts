import { threadKeys } from "millrace/model";
import { anyFacet, blockMicros, createPairFacet } from "../../runs/facets.ts";
import { createThreadIdSql } from "../../runs/run-filter-source.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";
import { withinDeadlineEachTimeSql, withinDeadlineSql } from "../../storage/sqlite/query-clock.ts";
import { parseRows } from "../../storage/sqlite/rows.ts";

/**
 * Maximum number of blocks of time in which the runs of one thread are searched. Older blocks are left out. The index
 * of facets lists, for each block, the values that its runs have, such as thread ids.
 */
const maxBlocks = 20_000;

/** Maximum number of runs that are read from those blocks. */
const maxBlockRuns = 200_000;

/**
 * Maximum number of runs in blocks with the wildcard facet, and of such blocks, that one query examines. The wildcard
 * facet marks blocks with runs whose facets are not known, so these runs may belong to any thread.
 */
const maxWildcardRuns = 5_000;
const maxWildcardBlocks = 2_000;

/** A run that was found in a block of time, with its position in its trace. */
interface FoundRun {
  readonly rowId: number;
  readonly traceId: string;
  readonly isRoot: boolean;
  readonly block: number;
  readonly dottedOrder: string;
}

/** The runs that stand for the turns of a thread: one of each trace. */
export interface ThreadRuns {
  readonly rowIds: readonly number[];
  /** Whether older runs of the thread were left out, because there are too many. */
  readonly isTruncated: boolean;
}

/** Runs of a project in blocks of time for which the index of facets does not say which threads they belong to. */
export interface WildcardRuns {
  readonly byThread: ReadonlyMap<string, readonly FoundRun[]>;
  /** Whether there are more such runs than were examined. */
  readonly isPartial: boolean;
}

/** Finds the runs of threads in the index of facets (`facets.ts`). */
export class ThreadRunFinder {
  readonly #statements;

  constructor(db: Connection) {
    this.#statements = {
      listBlocks: db
        .prepare(
          `SELECT DISTINCT block FROM run_facets
           WHERE project_id = ? AND facet IN (SELECT value FROM json_each(?)) ORDER BY block DESC LIMIT ?`,
        )
        .raw(),
      listRuns: db
        .prepare(
          `SELECT r.rowid, r.trace_id, r.parent_run_id IS NULL, b.value, r.dotted_order
           FROM json_each(?2) b CROSS JOIN runs r INDEXED BY runs_by_start
             ON r.project_id = ?1 AND r.start_us >= b.value * ${blockMicros} AND r.start_us < (b.value + 1) * ${blockMicros}
           WHERE ${withinDeadlineSql("r.rowid")} LIMIT ?3`,
        )
        .raw(),
      // The id is read as a blob, because a SQLite package may return a text only up to its first NUL.
      listThreadIds: db
        .prepare(
          `SELECT r.rowid, CAST(${createThreadIdSql("r")} AS BLOB) FROM json_each(?) j CROSS JOIN runs r ON r.rowid = j.value
           WHERE ${withinDeadlineEachTimeSql("r.rowid")}`,
        )
        .raw(),
    };
  }

  /**
   * Finds the runs that stand for the turns of a thread, in no particular order. If a root run in a block of time has
   * the thread's id, that block is not searched for other runs with the id: they are mostly descendants of the root,
   * and reading the payloads of all runs of the block would take long.
   */
  find(projectId: string, threadId: string, wildcards: WildcardRuns): ThreadRuns {
    const facets = threadKeys.flatMap((key) => createPairFacet(key, threadId) ?? []);
    const blocks = this.#listBlocks(projectId, facets, maxBlocks + 1);
    const runs = this.#listRuns(projectId, blocks.slice(0, maxBlocks));
    const selectOfThread = this.#createFilter(threadId);
    const roots = selectOfThread(runs.filter(({ isRoot }) => isRoot));
    const rootTraces = new Set(roots.map(({ traceId }) => traceId));
    const blocksWithRoots = new Set(
      runs.filter(({ traceId }) => rootTraces.has(traceId)).map(({ block }) => block),
    );
    const otherRuns = selectOfThread(
      runs.filter(
        ({ isRoot, block, traceId }) =>
          !isRoot && !blocksWithRoots.has(block) && !rootTraces.has(traceId),
      ),
    );
    return {
      rowIds: selectFirstOfTraces([
        ...roots,
        ...otherRuns,
        ...(wildcards.byThread.get(threadId) ?? []),
      ]),
      isTruncated: blocks.length > maxBlocks || runs.length >= maxBlockRuns,
    };
  }

  /** Examines the latest runs in blocks with the wildcard facet. */
  findWildcards(projectId: string): WildcardRuns {
    const blocks = this.#listBlocks(projectId, [anyFacet], maxWildcardBlocks + 1);
    const runs = this.#listRuns(projectId, blocks.slice(0, maxWildcardBlocks)).slice(
      0,
      maxWildcardRuns + 1,
    );
    const examinedRuns = runs.slice(0, maxWildcardRuns);
    const threadIds = this.#readThreadIds(examinedRuns);
    const byThread = new Map<string, FoundRun[]>();
    for (const run of examinedRuns) {
      const threadId = threadIds.get(run.rowId);
      if (threadId !== undefined) {
        const runsOfThread = byThread.get(threadId) ?? [];
        byThread.set(threadId, runsOfThread);
        runsOfThread.push(run);
      }
    }
    return {
      byThread,
      isPartial: blocks.length > maxWildcardBlocks || runs.length > maxWildcardRuns,
    };
  }

  #listBlocks(projectId: string, facets: readonly string[], limit: number): readonly number[] {
    return facets.length === 0
      ? []
      : parseRows(this.#statements.listBlocks.all([projectId, JSON.stringify(facets), limit])).map(
          ([block]) => Number(block),
        );
  }

  #listRuns(projectId: string, blocks: readonly number[]): readonly FoundRun[] {
    const rows = this.#statements.listRuns.all([projectId, JSON.stringify(blocks), maxBlockRuns]);
    return parseRows(rows).map(([rowId, traceId, isRoot, block, dottedOrder]) => ({
      rowId: Number(rowId),
      traceId: String(traceId),
      isRoot: isRoot === 1,
      block: Number(block),
      dottedOrder: String(dottedOrder),
    }));
  }

  /** Returns a function that selects the runs of a thread from a list of runs. */
  #createFilter(threadId: string) {
    return (runs: readonly FoundRun[]): readonly FoundRun[] => {
      const threadIds = this.#readThreadIds(runs);
      return runs.filter(({ rowId }) => threadIds.get(rowId) === threadId);
    };
  }

  /** Returns the ids of the threads by row number. Runs that belong to no thread have no entry. */
  #readThreadIds(runs: readonly FoundRun[]): ReadonlyMap<number, string> {
    const rowIds = JSON.stringify(runs.map(({ rowId }) => rowId));
    return new Map(
      parseRows(this.#statements.listThreadIds.all([rowIds])).flatMap(([rowId, id]) =>
        id instanceof Uint8Array ? [[Number(rowId), Buffer.from(id).toString()] as const] : [],
      ),
    );
  }
}

/** Selects one run of each trace: the root, or else the run that comes first in the trace. */
function selectFirstOfTraces(runs: readonly FoundRun[]): readonly number[] {
  const firstRuns = new Map<string, FoundRun>();
  for (const run of runs) {
    const firstRun = firstRuns.get(run.traceId);
    if (
      firstRun === undefined ||
      run.isRoot ||
      (!firstRun.isRoot && run.dottedOrder < firstRun.dottedOrder)
    ) {
      firstRuns.set(run.traceId, run);
    }
  }
  return [...firstRuns.values()].map(({ rowId }) => rowId);
}

import { threadKeys } from "millrace/model";
import { createPairFacet } from "../../runs/facets.ts";
import { threadFacetCondition, threadFacetIndex } from "../../runs/tables/run-facet-tables.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";
import { withinDeadlineSql } from "../../storage/sqlite/query-clock.ts";
import { parseRows, textOf } from "../../storage/sqlite/rows.ts";
import type { ThreadPosition, ThreadQuery } from "../thread.ts";
import type { WildcardRuns } from "./thread-runs.ts";

/** Number of blocks of time with threads that one query returns. */
const blocksPerQuery = 200;

/** SQL for the id of the thread that a facet contains. The key before it contains no `=`. */
const idSql = "substr(CAST(facet AS BLOB), instr(facet, '=') + 1)";

const createListSql = (columns: string): string =>
  `SELECT ${columns} FROM run_facets INDEXED BY ${threadFacetIndex} WHERE project_id = ?1 AND ${threadFacetCondition}
     AND (?2 = '' OR instr(${idSql}, CAST(?2 AS BLOB)) > 0) AND ${withinDeadlineSql("block")}`;

/** Lists the threads that may exist, according to the index of facets, in the order of the list of threads. */
export class ThreadCandidates {
  readonly #listBlocks;
  readonly #listThreads;
  readonly #findLastBlock;

  constructor(db: Connection) {
    this.#listBlocks = db
      .prepare(
        `${createListSql("DISTINCT block")} AND block <= ?3 ORDER BY block DESC LIMIT ${blocksPerQuery}`,
      )
      .raw();
    // The id is read as a blob, because a SQLite package may return a text only up to its first NUL.
    this.#listThreads = db
      .prepare(`${createListSql(`DISTINCT block, ${idSql}`)} AND block BETWEEN ?3 AND ?4`)
      .raw();
    this.#findLastBlock = db
      .prepare(
        "SELECT max(block) FROM run_facets WHERE project_id = ? AND facet IN (SELECT value FROM json_each(?))",
      )
      .raw();
  }

  /** Iterates over the threads after a position. Some of them may have no runs any more. */
  *iterate(
    { projectId, text = "", after }: ThreadQuery,
    wildcards: WildcardRuns,
  ): Generator<ThreadPosition> {
    const wildcardThreads = this.#listWildcardThreads(projectId, text, wildcards);
    const wildcardIds = new Set(wildcardThreads.map(({ id }) => id));
    let highestBlock = after?.block ?? Number.MAX_SAFE_INTEGER;
    for (;;) {
      const blocks = parseRows(this.#listBlocks.all([projectId, text, highestBlock]));
      const lowestListed = blocks.at(-1)?.[0];
      const isLast = blocks.length < blocksPerQuery;
      const lowestBlock = isLast ? Number.NEGATIVE_INFINITY : Number(lowestListed);
      const listed =
        lowestListed === undefined
          ? []
          : this.#listLastActive(projectId, text, {
              lowestBlock: Number(lowestListed),
              highestBlock,
            });
      const threads = [
        ...listed.filter(({ id }) => !wildcardIds.has(id)),
        ...wildcardThreads.filter(({ block }) => block >= lowestBlock && block <= highestBlock),
      ];
      yield* threads
        .filter((thread) => after === undefined || comparePositions(thread, after) > 0)
        .toSorted(comparePositions);
      if (isLast) {
        return;
      }
      highestBlock = lowestBlock - 1;
    }
  }

  /** Lists the threads whose last runs, according to the index, are in these blocks of time. */
  #listLastActive(
    projectId: string,
    text: string,
    { lowestBlock, highestBlock }: { readonly lowestBlock: number; readonly highestBlock: number },
  ): readonly ThreadPosition[] {
    return parseRows(this.#listThreads.all([projectId, text, lowestBlock, highestBlock]))
      .map(([block, id]) => ({ id: textOf(id), block: Number(block) }))
      .filter(({ id, block }) => this.#readLastBlock(projectId, id) === block);
  }

  /** Returns the last block of time in which the thread has runs, according to the index; `-Infinity` without any. */
  #readLastBlock(projectId: string, threadId: string): number {
    const facets = threadKeys.flatMap((key) => createPairFacet(key, threadId) ?? []);
    const [[block] = []] = parseRows(this.#findLastBlock.all([projectId, JSON.stringify(facets)]));
    return Number(block ?? Number.NEGATIVE_INFINITY);
  }

  /** Returns the threads of the runs that the index does not cover, at their positions in the list. */
  #listWildcardThreads(
    projectId: string,
    text: string,
    { byThread }: WildcardRuns,
  ): readonly ThreadPosition[] {
    return [...byThread]
      .filter(([id]) => id.includes(text))
      .map(([id, runs]) => ({
        id,
        block: runs.reduce(
          (last, { block }) => Math.max(last, block),
          this.#readLastBlock(projectId, id),
        ),
      }));
  }
}

/** Orders positions as the list does: the latest block first, then ids as SQLite compares blobs. */
const comparePositions = (a: ThreadPosition, b: ThreadPosition): number =>
  b.block - a.block || Buffer.compare(Buffer.from(a.id), Buffer.from(b.id));

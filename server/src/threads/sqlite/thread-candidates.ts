import { threadKeys } from "millrace/model";
import { createPairFacet } from "../../runs/facets.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";
import { withinDeadlineSql } from "../../storage/sqlite/query-clock.ts";
import { parseRows, textOf } from "../../storage/sqlite/rows.ts";
import type { ThreadPosition, ThreadQuery } from "../thread.ts";
import type { WildcardRuns } from "./thread-runs.ts";

/** Number of threads that one query of the index returns. */
const candidatesPerQuery = 200;

const keyPrefixes = threadKeys.map((key) => createPairFacet(key, "") ?? "");

/**
 * SQL for the ids of all threads in the index, with the last block of time in which each has runs, once for each
 * metadata key that can name a thread.
 */
const indexedThreadsSql = keyPrefixes
  .map(
    (prefix) => `SELECT substr(CAST(facet AS BLOB), ${prefix.length + 1}) AS id, max(block) AS block
      FROM run_facets WHERE project_id = ?1 AND facet >= '${prefix}' AND facet < '${toPrefixEnd(prefix)}'
        AND ${withinDeadlineSql("block")} GROUP BY facet`,
  )
  .join(" UNION ALL ");

/** Lists the threads that may exist, according to the index of facets, in the order of the list of threads. */
export class ThreadCandidates {
  readonly #list;
  readonly #findLastBlock;

  constructor(db: Connection) {
    this.#list = db
      .prepare(
        `SELECT id, max(block) AS last FROM (${indexedThreadsSql})
         WHERE ?2 = '' OR instr(id, CAST(?2 AS BLOB)) > 0
         GROUP BY id HAVING ?3 IS NULL OR last < ?3 OR (last = ?3 AND id > CAST(?4 AS BLOB))
         ORDER BY last DESC, id LIMIT ${candidatesPerQuery}`,
      )
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
    let position = after;
    for (;;) {
      const rows = parseRows(
        this.#list.all([projectId, text, position?.block ?? null, position?.id ?? ""]),
      );
      const isLast = rows.length < candidatesPerQuery;
      const listed = rows.map(([id, block]) => ({ id: textOf(id), block: Number(block) }));
      const end = isLast ? undefined : listed.at(-1);
      const start = position;
      const dueWildcardThreads = wildcardThreads.filter(
        (thread) =>
          (start === undefined || comparePositions(thread, start) > 0) &&
          (end === undefined || comparePositions(thread, end) <= 0),
      );
      const wildcardIds = new Set(wildcardThreads.map(({ id }) => id));
      yield* [...listed.filter(({ id }) => !wildcardIds.has(id)), ...dueWildcardThreads].toSorted(
        comparePositions,
      );
      if (end === undefined) {
        return;
      }
      position = end;
    }
  }

  /** Returns the threads of the runs that the index does not cover, at their positions in the list. */
  #listWildcardThreads(
    projectId: string,
    text: string,
    { byThread }: WildcardRuns,
  ): readonly ThreadPosition[] {
    return [...byThread]
      .filter(([id]) => id.includes(text))
      .map(([id, runs]) => {
        const facets = threadKeys.flatMap((key) => createPairFacet(key, id) ?? []);
        const [[block] = []] = parseRows(
          this.#findLastBlock.all([projectId, JSON.stringify(facets)]),
        );
        const blocks = runs.map((run) => run.block);
        return {
          id,
          block: blocks.reduce((last, next) => Math.max(last, next), Number(block ?? -Infinity)),
        };
      });
  }
}

/** Returns the first text after all texts with this prefix. */
function toPrefixEnd(prefix: string): string {
  const lastCharCode = prefix.charCodeAt(prefix.length - 1);
  return prefix.slice(0, -1) + String.fromCharCode(lastCharCode + 1);
}

/** Orders positions as the list does: the latest block first, then ids as SQLite compares blobs. */
const comparePositions = (a: ThreadPosition, b: ThreadPosition): number =>
  b.block - a.block || Buffer.compare(Buffer.from(a.id), Buffer.from(b.id));

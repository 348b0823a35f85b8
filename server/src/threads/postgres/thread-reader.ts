import { threadKeys } from "millrace/model";
import type { PostgresExperimentReader } from "../../experiments/postgres/experiment-reader.ts";
import { anyFacet, blockMicros, createPairFacet } from "../../runs/facets.ts";
import { createThreadIdSql } from "../../runs/postgres/run-filter-source.ts";
import { listPartitionNames } from "../../runs/postgres/partitions.ts";
import type { PostgresRunReader } from "../../runs/postgres/run-reader.ts";
import type { RunFeedbackReads } from "../../runs/run-feedback.ts";
import type { PostgresDatabase } from "../../storage/postgres/postgres-database.ts";
import { decodeText, encodeText } from "../../storage/postgres/text-encoding.ts";
import { findLastMessage } from "../last-message.ts";
import { toThread } from "../thread-summary.ts";
import type { StoredTurn } from "../thread-summary.ts";
import type {
  Thread,
  ThreadMessage,
  ThreadPage,
  ThreadPosition,
  ThreadQuery,
  ThreadReads,
  Turn,
  TurnPage,
  TurnQuery,
} from "../thread.ts";

/** Maximum number of turns that are read of one thread: the latest ones. */
const maxTurns = 10_000;

/** Number of threads that one query for the list returns. */
const candidatesPerQuery = 200;

/**
 * Maximum number of the latest runs with the wildcard facet that are examined. Facets are indexed values of a run, such
 * as its thread id. The wildcard facet marks a run whose facets are not known: its thread is read from its payloads.
 */
const maxWildcardRuns = 5_000;

/**
 * Maximum number of threads that one query for the list reads from the table `threads`. It is larger than
 * `candidatesPerQuery`, because the query removes some of these threads again: a run with the wildcard facet may show
 * that a thread was active later than the table says, so that the thread belongs to an earlier page.
 */
const maxListedThreads = candidatesPerQuery + maxWildcardRuns + 1;

/** The other readers that {@link PostgresThreadReader} uses. */
export interface ThreadReaderDependencies {
  readonly runs: Pick<PostgresRunReader, "query">;
  readonly usage: Pick<PostgresExperimentReader, "readUsageOfTraces">;
  readonly feedback: Pick<RunFeedbackReads, "readStatsOfRuns" | "readStatsOfFilter">;
}

interface TurnRow {
  readonly id: string;
  readonly trace_id: string;
  readonly name: string;
  readonly run_type: string;
  readonly start_us: number;
  readonly end_us: number | null;
  readonly has_error: number;
  readonly total_tokens: number | null;
  readonly total_cost: number | null;
}

/** Identifies a thread, and names the partitions in which its runs are searched. */
interface ThreadLocation {
  readonly projectId: string;
  readonly threadId: string;
  /** Names of the partitions of `runs`. */
  readonly partitions: readonly string[];
}

/** The turns of a thread in the order of their start. */
interface FoundTurns {
  readonly turns: readonly StoredTurn[];
  readonly isTruncated: boolean;
}

/** Reads threads. The table `threads` lists the threads, and the facets of runs determine which runs belong to each. */
export class PostgresThreadReader implements ThreadReads {
  readonly #db: PostgresDatabase;
  readonly #dependencies: ThreadReaderDependencies;

  constructor(db: PostgresDatabase, dependencies: ThreadReaderDependencies) {
    this.#db = db;
    this.#dependencies = dependencies;
  }

  async list(tenantId: string, query: ThreadQuery): Promise<ThreadPage> {
    const { projectId, limit, withinMs } = query;
    const startedMs = performance.now();
    const partitions = await this.#prepareIndexes();
    const isPartial = await this.#hasManyWildcards(tenantId, projectId, partitions);
    const threads: Thread[] = [];
    let lastPosition = query.after;
    for (;;) {
      const candidates = await this.#listCandidates(tenantId, query, {
        after: lastPosition,
        partitions,
      });
      for (const candidate of candidates) {
        const isTimeOver = threads.length > 0 && performance.now() - startedMs > withinMs;
        if (lastPosition !== undefined && (threads.length >= limit || isTimeOver)) {
          return { threads, next: lastPosition, isPartial };
        }
        // Sequential: the connection runs one query at a time.
        const thread = await this.#readThread(tenantId, {
          projectId,
          threadId: candidate.id,
          partitions,
        });
        lastPosition = candidate;
        if (thread !== undefined) {
          threads.push(thread);
        }
      }
      if (candidates.length < candidatesPerQuery) {
        return { threads, isPartial };
      }
    }
  }

  async readTurns(
    tenantId: string,
    { projectId, threadId, offset, limit }: TurnQuery,
  ): Promise<TurnPage> {
    const { turns, isTruncated } = await this.#listTurns(tenantId, {
      projectId,
      threadId,
      partitions: await this.#prepareIndexes(),
    });
    const page = turns.slice(offset, offset + limit);
    const usage = await this.#dependencies.usage.readUsageOfTraces(
      tenantId,
      page.map(({ traceId }) => traceId),
    );
    const feedback = await this.#dependencies.feedback.readStatsOfRuns(
      tenantId,
      page.map(({ runId }) => runId),
    );
    return {
      turns: page.map((turn): Turn => {
        const { tokens, cost } = usage.get(turn.traceId) ?? {};
        return {
          ...turn,
          tokens: tokens ?? turn.tokens,
          cost: cost ?? turn.cost,
          feedback: feedback.get(turn.runId) ?? {},
        };
      }),
      turnCount: turns.length,
      isTruncated,
    };
  }

  /** Returns `undefined` if no run has the thread's id any more. */
  async #readThread(tenantId: string, location: ThreadLocation): Promise<Thread | undefined> {
    const { turns, isTruncated } = await this.#listTurns(tenantId, location);
    const lastTurn = turns.at(-1);
    if (lastTurn === undefined) {
      return undefined;
    }
    const usage = await this.#dependencies.usage.readUsageOfTraces(
      tenantId,
      turns.map(({ traceId }) => traceId),
    );
    return toThread(location.threadId, turns, {
      usage,
      isTruncated,
      lastMessage: await this.#readLastMessage(tenantId, lastTurn),
      feedback: await this.#dependencies.feedback.readStatsOfFilter(tenantId, {
        ids: turns.map(({ runId }) => runId),
      }),
    });
  }

  /** Lists threads after a position, in the order of the list. Some of them may have no runs any more. */
  async #listCandidates(
    tenantId: string,
    { projectId, text = "" }: ThreadQuery,
    {
      after,
      partitions,
    }: { readonly after: ThreadPosition | undefined; readonly partitions: readonly string[] },
  ): Promise<readonly ThreadPosition[]> {
    const { rows } = await this.#db.query<{ readonly id: string; readonly last: number }>(
      `SELECT id, max(block) AS last FROM (
         (SELECT id, last_block AS block FROM threads
           WHERE tenant_id = $1 AND project_id = $2 AND ($3 = '' OR strpos(id, $3) > 0)
             ${after === undefined ? "" : "AND last_block <= $4::bigint"}
           ORDER BY last_block DESC, id LIMIT ${maxListedThreads})
         UNION ALL
         SELECT w.id COLLATE "C", floor(w.start_us::numeric / ${blockMicros})::bigint FROM (
           SELECT ${createThreadIdSql("r")} AS id, r.start_us FROM ${createFoundSql(partitions, wildcardCondition)}
           ORDER BY r.start_us DESC LIMIT ${maxWildcardRuns}
         ) w WHERE w.id IS NOT NULL
       ) t WHERE $3 = '' OR strpos(id, $3) > 0
       GROUP BY id
       HAVING $4::bigint IS NULL OR max(block) < $4::bigint OR (max(block) = $4::bigint AND id > $5)
       ORDER BY last DESC, id LIMIT ${candidatesPerQuery}`,
      [tenantId, projectId, encodeText(text), after?.block ?? null, encodeText(after?.id ?? "")],
    );
    return rows.map(({ id, last }) => ({ id: decodeText(id), block: last }));
  }

  /**
   * Lists the partitions in which the index of facets can be used, and disables sequential scans until the end of the
   * transaction. PostgreSQL would often prefer such a scan to the index, because its statistics say little about how
   * many runs have a facet.
   */
  async #prepareIndexes(): Promise<readonly string[]> {
    await this.#db.execute("SET LOCAL enable_seqscan = off");
    return listPartitionNames(this.#db);
  }

  /** Whether the project has more runs with the wildcard facet than are examined. */
  async #hasManyWildcards(
    tenantId: string,
    projectId: string,
    partitions: readonly string[],
  ): Promise<boolean> {
    const { rows } = await this.#db.query<object>(
      `SELECT 1 FROM (${createKeysSql(partitions, wildcardCondition)}) k OFFSET ${maxWildcardRuns} LIMIT 1`,
      [tenantId, projectId],
    );
    return rows.length > 0;
  }

  /** Finds the runs that stand for the turns of a thread: of each trace the root, or else its first run with the id. */
  async #listTurns(
    tenantId: string,
    { projectId, threadId, partitions }: ThreadLocation,
  ): Promise<FoundTurns> {
    const facets = [anyFacet, ...threadKeys.flatMap((key) => createPairFacet(key, threadId) ?? [])];
    const { rows } = await this.#db.query<TurnRow>(
      `SELECT * FROM (
         SELECT DISTINCT ON (r.trace_id) r.id, r.trace_id, r.name, r.run_type, r.start_us, r.end_us, r.has_error,
           r.total_tokens, r.total_cost
         FROM ${createFoundSql(partitions, threadCondition)} WHERE ${createThreadIdSql("r")} = $4::text
         ORDER BY r.trace_id, r.parent_run_id IS NOT NULL, r.dotted_order
       ) t ORDER BY start_us DESC, id DESC LIMIT ${maxTurns + 1}`,
      [tenantId, projectId, facets.map(encodeText), encodeText(threadId)],
    );
    return {
      turns: rows.slice(0, maxTurns).toReversed().map(toTurn),
      isTruncated: rows.length > maxTurns,
    };
  }

  async #readLastMessage(
    tenantId: string,
    { runId, hasError }: StoredTurn,
  ): Promise<ThreadMessage | null> {
    const { runs } = await this.#dependencies.runs.query(tenantId, {
      filter: { ids: [runId] },
      order: "asc",
      limit: 1,
      withChildren: false,
      parts: messageParts,
    });
    const [run] = runs;
    return run === undefined ? null : findLastMessage(run.bodies, hasError);
  }
}

const messageParts = new Set(["bodies"] as const);

const wildcardCondition = `r.tenant_id = $1 AND r.project_id = $2 AND r.facets @> ARRAY['${anyFacet}']`;

/** The condition that a run has one of the facets of a thread. */
const threadCondition = "r.tenant_id = $1 AND r.project_id = $2 AND r.facets && $3::text[]";

/** SQL for the keys of the runs that meet a condition. */
const createKeysSql = (partitions: readonly string[], condition: string): string =>
  partitions
    .map((name) => `SELECT r.root_us, r.trace_id, r.id FROM ${name} r WHERE ${condition}`)
    .join(" UNION ALL ");

/**
 * SQL for the runs `r` that meet a condition, which are found in the partitions and read from `runs`. OFFSET 0 prevents
 * PostgreSQL from merging the subqueries into one query.
 */
const createFoundSql = (partitions: readonly string[], condition: string): string =>
  `(${createKeysSql(partitions, condition)} OFFSET 0) k CROSS JOIN LATERAL (SELECT * FROM runs r
     WHERE r.tenant_id = $1 AND r.trace_id = k.trace_id AND r.id = k.id AND r.root_us = k.root_us OFFSET 0) r`;

const toTurn = (row: TurnRow): StoredTurn => ({
  runId: row.id,
  traceId: row.trace_id,
  name: decodeText(row.name),
  runType: decodeText(row.run_type),
  startMicros: row.start_us,
  endMicros: row.end_us,
  hasError: row.has_error === 1,
  tokens: row.total_tokens,
  cost: row.total_cost,
});

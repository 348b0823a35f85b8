import type { ExperimentReads } from "../../experiments/experiment.ts";
import type { RunFeedbackReads } from "../../runs/run-feedback.ts";
import type { StoredRun } from "../../runs/run-row.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";
import { parseRows, textOf, toWholeTextSql } from "../../storage/sqlite/rows.ts";
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
import { ThreadCandidates } from "./thread-candidates.ts";
import { ThreadRunFinder } from "./thread-runs.ts";
import type { ThreadRuns, WildcardRuns } from "./thread-runs.ts";

/** Maximum number of turns that are read of one thread: the latest ones. */
const maxTurns = 10_000;

/** The other readers that the thread reader uses. */
export interface ThreadReaderDependencies {
  readonly runs: { readRows(rows: readonly number[]): readonly StoredRun[] };
  readonly usage: Pick<ExperimentReads, "readUsageOfTraces">;
  readonly feedback: Pick<RunFeedbackReads, "readStatsOfRuns" | "readStatsOfFilter">;
}

/** Reads threads over a read-only connection. */
export class ThreadReader implements ThreadReads {
  readonly #db: Connection;
  readonly #dependencies: ThreadReaderDependencies;
  readonly #candidates: ThreadCandidates;
  readonly #runs: ThreadRunFinder;
  readonly #statements;

  constructor(db: Connection, dependencies: ThreadReaderDependencies) {
    this.#db = db;
    this.#dependencies = dependencies;
    this.#candidates = new ThreadCandidates(db);
    this.#runs = new ThreadRunFinder(db);
    this.#statements = {
      findProject: db.prepare("SELECT 1 FROM projects WHERE id = ? AND tenant_id = ?").raw(),
      listTurns: db
        .prepare(
          `SELECT r.rowid, r.id, r.trace_id, ${toWholeTextSql("r.name")}, ${toWholeTextSql("r.run_type")}, r.start_us, r.end_us,
             r.has_error, r.total_tokens, r.total_cost
           FROM json_each(?) j CROSS JOIN runs r ON r.rowid = j.value ORDER BY r.start_us, r.id`,
        )
        .raw(),
    };
  }

  async list(tenantId: string, query: ThreadQuery): Promise<ThreadPage> {
    const { projectId, limit, withinMs } = query;
    if (!this.#hasProject(tenantId, projectId)) {
      return { threads: [], isPartial: false };
    }
    const startedMs = performance.now();
    const wildcards = this.#runs.findWildcards(projectId);
    const threads: Thread[] = [];
    let lastPosition: ThreadPosition | undefined;
    for (const candidate of this.#candidates.iterate(query, wildcards)) {
      const isTimeOver = threads.length > 0 && performance.now() - startedMs > withinMs;
      if (lastPosition !== undefined && (threads.length >= limit || isTimeOver)) {
        return { threads, next: lastPosition, isPartial: wildcards.isPartial };
      }
      lastPosition = candidate;
      // Sequential: the connection runs one query at a time.
      const thread = await this.#readThread(tenantId, { projectId, id: candidate.id, wildcards });
      if (thread !== undefined) {
        threads.push(thread);
      }
    }
    return { threads, isPartial: wildcards.isPartial };
  }

  async readTurns(
    tenantId: string,
    { projectId, threadId, offset, limit }: TurnQuery,
  ): Promise<TurnPage> {
    if (!this.#hasProject(tenantId, projectId)) {
      return { turns: [], turnCount: 0, isTruncated: false };
    }
    const wildcards = this.#runs.findWildcards(projectId);
    const threadRuns = this.#runs.find(projectId, threadId, wildcards);
    const { turns, isTruncated } = this.#listTurns(threadRuns);
    const page = turns.slice(offset, offset + limit);
    const [usage, feedback] = [
      this.#dependencies.usage.readUsageOfTraces(
        tenantId,
        page.map(({ traceId }) => traceId),
      ),
      await this.#dependencies.feedback.readStatsOfRuns(
        tenantId,
        page.map(({ runId }) => runId),
      ),
    ];
    return {
      turns: page.map(({ rowId: _row, ...turn }): Turn => {
        const { tokens, cost } = usage.get(turn.traceId) ?? {};
        return {
          ...turn,
          tokens: tokens ?? turn.tokens,
          cost: cost ?? turn.cost,
          feedback: feedback.get(turn.runId) ?? {},
        };
      }),
      turnCount: turns.length,
      isTruncated: isTruncated || wildcards.isPartial,
    };
  }

  #hasProject(tenantId: string, projectId: string): boolean {
    return this.#statements.findProject.all([projectId, tenantId]).length > 0;
  }

  /** Returns `undefined` if no run has the thread's id any more. */
  async #readThread(
    tenantId: string,
    thread: { readonly projectId: string; readonly id: string; readonly wildcards: WildcardRuns },
  ): Promise<Thread | undefined> {
    const { projectId, id, wildcards } = thread;
    const { turns, isTruncated } = this.#listTurns(this.#runs.find(projectId, id, wildcards));
    const lastTurn = turns.at(-1);
    if (lastTurn === undefined) {
      return undefined;
    }
    const usage = this.#dependencies.usage.readUsageOfTraces(
      tenantId,
      turns.map(({ traceId }) => traceId),
    );
    return toThread(id, turns, {
      usage,
      isTruncated,
      lastMessage: this.#readLastMessage(lastTurn),
      feedback: await this.#dependencies.feedback.readStatsOfFilter(tenantId, {
        ids: turns.map(({ runId }) => runId),
      }),
    });
  }

  /** Reads the turns in the order of their start. */
  #listTurns({ rowIds, isTruncated }: ThreadRuns): {
    readonly turns: readonly FoundTurn[];
    readonly isTruncated: boolean;
  } {
    this.#db.checkLimit();
    const rows = parseRows(this.#statements.listTurns.all([JSON.stringify(rowIds)]));
    const turns = rows.slice(-maxTurns).map((values) => ({
      rowId: Number(values[0]),
      runId: String(values[1]),
      traceId: String(values[2]),
      name: textOf(values[3]),
      runType: textOf(values[4]),
      startMicros: Number(values[5]),
      endMicros: numberOrNull(values[6]),
      hasError: values[7] === 1,
      tokens: numberOrNull(values[8]),
      cost: numberOrNull(values[9]),
    }));
    return { turns, isTruncated: isTruncated || rows.length > maxTurns };
  }

  #readLastMessage({ rowId, hasError }: FoundTurn): ThreadMessage | null {
    const [run] = this.#dependencies.runs.readRows([rowId]);
    return run === undefined ? null : findLastMessage(run.bodies, hasError);
  }
}

/** A turn and the number of its run's row. */
interface FoundTurn extends StoredTurn {
  readonly rowId: number;
}

const numberOrNull = (value: unknown): number | null => (typeof value === "number" ? value : null);

import { threadKeys } from "millrace/model";
import { serverLimits } from "../../../model/options.ts";
import type { ExpiredRuns } from "../retention.ts";
import { FacetSweeper } from "./facet-sweeper.ts";
import { anyFacet, blockMicros, createPairFacet } from "../../facets.ts";
import { PayloadReader } from "../../sqlite/payload-reader.ts";
import { RunRowDeleter } from "../../sqlite/run-row-deleter.ts";
import { parseRows, textOf, toWholeTextSql } from "../../../storage/sqlite/rows.ts";
import type { Connection } from "../../../storage/sqlite/connection.ts";
import { StepSize } from "../../../storage/sqlite/step-size.ts";

/** Maximum number of runs that one step deletes. Usually a step reaches its time limit first. */
const runsPerStep = 2_000;

/** Deletes expired runs in SQLite, with everything that belongs to them. */
export class SqliteExpiredRuns implements ExpiredRuns {
  readonly #steps: StepSize;
  readonly #payloads: PayloadReader;
  readonly #facets: FacetSweeper;
  readonly #rowDeleter: RunRowDeleter;
  readonly #statements: ReturnType<typeof prepareStatements>;

  constructor(db: Connection, stepSize = new StepSize()) {
    this.#steps = stepSize;
    this.#payloads = new PayloadReader(db);
    this.#facets = new FacetSweeper(db);
    this.#rowDeleter = new RunRowDeleter(db);
    this.#statements = prepareStatements(db);
  }

  deleteSome(tenantId: string, projectId: string, beforeMicros: number): number {
    const rows = parseRows(
      this.#statements.listExpired.all([
        projectId,
        beforeMicros,
        this.#steps.limitRows(runsPerStep),
      ]),
    );
    let deletedCount = 0;
    let erasedBytes = 0;
    const endMs = performance.now() + serverLimits.writeSliceMs;
    for (const [traceId, id, startMicros, name, runType] of rows) {
      const isOver = deletedCount > 0 && performance.now() > endMs;
      if (isOver || erasedBytes > serverLimits.erasedBytes) {
        break; // Other requests get a turn, and the next step continues here.
      }
      const row = {
        traceId: String(traceId),
        id: String(id),
        projectId,
        startMicros: Number(startMicros),
        name: textOf(name),
        runType: textOf(runType),
      };
      const payloads = this.#payloads.read(row);
      this.#facets.removeFacets(row, payloads, beforeMicros);
      const fileBytes = this.#rowDeleter.delete(tenantId, row);
      erasedBytes += payloads.reduce((sum, { length }) => sum + length, fileBytes);
      deletedCount += 1;
    }
    const lastDeletedRow = rows[deletedCount - 1];
    if (lastDeletedRow !== undefined) {
      this.#facets.finishStep({ projectId, startMicros: Number(lastDeletedRow[2]) }, beforeMicros);
      this.#deleteUnusedThreadShares(projectId);
    }
    return deletedCount;
  }

  /** Deletes the share links of threads that have no runs left. */
  #deleteUnusedThreadShares(projectId: string): void {
    const { listThreads, mayHaveRuns, deleteShare } = this.#statements;
    for (const [threadJson] of parseRows(listThreads.all([projectId]))) {
      const threadId = String(JSON.parse(String(threadJson)));
      const facets = threadKeys.map((key) => createPairFacet(key, threadId));
      // A very long thread id has no facet. Any run of the project is then treated as a possible run of the thread.
      const candidateFacets = facets.includes(undefined)
        ? null
        : JSON.stringify([anyFacet, ...facets]);
      if (mayHaveRuns.all([projectId, candidateFacets]).length === 0) {
        deleteShare.run([projectId, String(threadJson)]);
      }
    }
  }
}

function prepareStatements(db: Connection) {
  return {
    listExpired: db
      .prepare(
        `SELECT trace_id, id, start_us, ${toWholeTextSql("name")}, ${toWholeTextSql("run_type")}
          FROM runs WHERE project_id = ? AND start_us < ? ORDER BY start_us LIMIT ?`,
      )
      .raw(),
    listThreads: db.prepare("SELECT thread_json FROM thread_shares WHERE project_id = ?").raw(),
    mayHaveRuns: db
      .prepare(
        `SELECT 1 FROM run_facets f WHERE f.project_id = ?1
           AND (?2 IS NULL OR f.facet IN (SELECT value FROM json_each(?2)))
           AND EXISTS (SELECT 1 FROM runs r WHERE r.project_id = ?1
             AND r.start_us >= f.block * ${blockMicros} AND r.start_us < (f.block + 1) * ${blockMicros})
         LIMIT 1`,
      )
      .raw(),
    deleteShare: db.prepare("DELETE FROM thread_shares WHERE project_id = ? AND thread_json = ?"),
  };
}

import type {
  ComparedExperiment,
  ComparedRun,
  ComparedRunsQuery,
  ComparisonPage,
  ComparisonRequest,
  ExperimentReads,
  TraceUsage,
} from "../experiment.ts";
import {
  createComparedExperiment,
  createComparisonPage,
  describeComparedRun,
} from "../experiment-results.ts";
import type { StoredRun } from "../../runs/run-row.ts";
import { createModelCallSql, roundCost } from "../../runs/usage/run-cost.ts";
import { withinDeadlineSql } from "../../storage/sqlite/query-clock.ts";
import { parseRows } from "../../storage/sqlite/rows.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";
import { ResultCache } from "./result-cache.ts";

// This is also the condition of the partial index `experiment_results`, which contains all columns of a result.
const resultCondition =
  "r.project_id = ?1 AND r.parent_run_id IS NULL AND r.reference_example_id IS NOT NULL";
const experimentRunCondition = `${resultCondition} AND ${withinDeadlineSql("r.rowid")}`;
/** Number of model calls whose output tokens are averaged. */
const measuredCalls = 100;
/** Maximum number of runs of each experiment on one page. */
const maxRunsPerExperiment = 1_000;

/** The part of the repository of runs that the reader uses. */
export interface ExperimentReaderDependencies {
  readonly runs: { readRows(rows: readonly number[]): readonly StoredRun[] };
}

/** Queries the results of experiments: scores, errors and latencies, and the beginnings of payloads. */
export class ExperimentReader implements ExperimentReads {
  readonly #db: Connection;
  readonly #runs: ExperimentReaderDependencies["runs"];
  readonly #cache = new ResultCache();
  readonly #statements;

  constructor(db: Connection, { runs }: ExperimentReaderDependencies) {
    this.#db = db;
    this.#runs = runs;
    this.#statements = {
      version: db
        .prepare(
          `SELECT coalesce((SELECT version FROM experiment_versions WHERE project_id = ?1), 0)
           FROM projects WHERE id = ?1 AND tenant_id = ?2`,
        )
        .raw(),
      // Returning JSON lists is several times faster than returning a row for each result.
      results: db
        .prepare(
          `SELECT json_group_array(example), json_group_array(runs), json_group_array(errors), json_group_array(start)
           FROM (SELECT r.reference_example_id AS example, count(*) AS runs, sum(r.has_error) AS errors,
               min(r.start_us) AS start
             FROM runs r INDEXED BY experiment_results WHERE ${experimentRunCondition} GROUP BY 1)`,
        )
        .raw(),
      // With CROSS JOIN, SQLite reads the experiment's runs first, and then only the feedback on them.
      scores: db
        .prepare(
          `SELECT f.key_json, json_group_array(r.reference_example_id), json_group_array(f.score)
           FROM runs r INDEXED BY experiment_results CROSS JOIN feedback f INDEXED BY feedback_scores ON f.run_id = r.id
           WHERE ${experimentRunCondition} AND f.tenant_id = ?2 AND f.score IS NOT NULL AND f.comparative_id IS ?3
           GROUP BY 1`,
        )
        .raw(),
      rows: db
        .prepare(
          `SELECT r.rowid FROM json_each(?2) e CROSS JOIN runs r INDEXED BY experiment_results
             ON r.reference_example_id = e.value
           WHERE ${resultCondition} AND EXISTS (SELECT 1 FROM projects p WHERE p.id = ?1 AND p.tenant_id = ?3)
           ORDER BY r.start_us, r.id LIMIT ${maxRunsPerExperiment}`,
        )
        .raw(),
      runScores: db
        .prepare(
          `SELECT f.run_id, f.key_json, avg(f.score)
           FROM json_each(?1) i CROSS JOIN feedback f INDEXED BY feedback_scores ON f.run_id = i.value
           WHERE f.tenant_id = ?2 AND f.score IS NOT NULL AND f.comparative_id IS ?3 GROUP BY 1, 2`,
        )
        .raw(),
      outputTokens: db
        .prepare(
          `SELECT avg(tokens) FROM (SELECT r.completion_tokens AS tokens FROM runs r
           WHERE r.project_id = ?1 AND ${createModelCallSql("r.run_type")} AND r.completion_tokens IS NOT NULL
             AND ${withinDeadlineSql("r.rowid")} AND EXISTS (SELECT 1 FROM projects p WHERE p.id = ?1 AND p.tenant_id = ?2)
           ORDER BY r.start_us DESC LIMIT ${measuredCalls})`,
        )
        .raw(),
      usage: db
        .prepare(
          `SELECT r.trace_id, sum(r.total_tokens), sum(r.total_cost), sum(r.prompt_cost), sum(r.completion_cost)
           FROM json_each(?2) t CROSS JOIN runs r ON r.trace_id = t.value
           WHERE ${createModelCallSql("r.run_type")} AND +r.project_id IN (SELECT id FROM projects WHERE tenant_id = ?1) GROUP BY 1`,
        )
        .raw(),
    };
  }

  compare(tenantId: string, request: ComparisonRequest): ComparisonPage {
    const { experimentIds, comparativeId } = request;
    return createComparisonPage(
      experimentIds.map((id) => this.#readExperiment(tenantId, { id, comparativeId })),
      request,
    );
  }

  /**
   * Reads the results of an experiment, or returns the cached results if the experiment has not changed since. The
   * cache saves time because reading 10,000 results takes 30 ms, and each page, order and filter needs them again.
   */
  #readExperiment(tenantId: string, key: ExperimentKey): ComparedExperiment {
    const { id, comparativeId } = key;
    this.#db.checkLimit();
    // The version is read before the results: if a write comes in between, the next call reads the results again.
    const [row] = parseRows(this.#statements.version.all([id, tenantId]));
    if (row === undefined) {
      return toComparedExperiment(id, [], []);
    }
    const version = Number(row[0]);
    const cacheKey = `${tenantId} ${id} ${comparativeId ?? ""}`;
    return this.#cache.read(cacheKey, version, () =>
      toComparedExperiment(
        id,
        parseRows(this.#statements.results.all([id])),
        parseRows(this.#statements.scores.all([id, tenantId, comparativeId ?? null])),
      ),
    );
  }

  readRuns(tenantId: string, query: ComparedRunsQuery): readonly ComparedRun[] {
    const { experimentIds, exampleIds } = query;
    // One experiment after the other, so that the payloads of one can be freed before those of the next are read.
    return experimentIds.flatMap((experimentId) => {
      const parameters = [experimentId, JSON.stringify(exampleIds), tenantId];
      const rows = this.#statements.rows.all(parameters).flat().map(Number);
      return this.#describeRuns(tenantId, this.#runs.readRows(rows), query);
    });
  }

  #describeRuns(
    tenantId: string,
    runs: readonly StoredRun[],
    { comparativeId, previewChars }: ComparedRunsQuery,
  ): readonly ComparedRun[] {
    this.#db.checkLimit();
    const scores = this.#readRunScores(
      tenantId,
      runs.map(({ row }) => row.id),
      comparativeId,
    );
    const usage = this.readUsageOfTraces(
      tenantId,
      runs.map(({ row }) => row.traceId),
    );
    return runs.map((run) => describeComparedRun(run, { scores, usage, previewChars }));
  }

  /** Reads the mean scores of runs, by run and key. */
  #readRunScores(
    tenantId: string,
    runIds: readonly string[],
    comparativeId: string | undefined,
  ): ReadonlyMap<string, ReadonlyMap<string, number>> {
    const parameters = [JSON.stringify(runIds), tenantId, comparativeId ?? null];
    const scores = new Map<string, Map<string, number>>();
    for (const [runId, keyJson, score] of parseRows(this.#statements.runScores.all(parameters))) {
      const scoresOfRun = scores.get(String(runId)) ?? new Map<string, number>();
      scores.set(String(runId), scoresOfRun);
      scoresOfRun.set(String(JSON.parse(String(keyJson))), Number(score));
    }
    return scores;
  }

  measureOutputTokens(tenantId: string, experimentIds: readonly string[]): number | null {
    for (const id of experimentIds) {
      const [mean] = this.#statements.outputTokens.all([id, tenantId]).flat();
      if (typeof mean === "number") {
        return mean;
      }
    }
    return null;
  }

  readUsageOfTraces(
    tenantId: string,
    traceIds: readonly string[],
  ): ReadonlyMap<string, TraceUsage> {
    const rows = this.#statements.usage.all([tenantId, JSON.stringify(traceIds)]);
    return new Map(
      parseRows(rows).map(([traceId, ...sums]) => {
        const [tokens = null, cost = null, promptCost = null, completionCost = null] = sums.map(
          (sum) => (sum === null ? null : roundCost(Number(sum))),
        );
        return [String(traceId), { tokens, cost, promptCost, completionCost }];
      }),
    );
  }
}

/** The experiment to read, and the comparison whose scores to read. */
interface ExperimentKey {
  readonly id: string;
  readonly comparativeId: string | undefined;
}

type Row = readonly unknown[];

function toComparedExperiment(
  id: string,
  [results]: readonly Row[],
  scoreLists: readonly Row[],
): ComparedExperiment {
  const [exampleIds, runCounts, errorCounts, firstStartMicros] = (
    results ?? ["[]", "[]", "[]", "[]"]
  ).map(parseList);
  return createComparedExperiment(
    id,
    {
      exampleIds: exampleIds as readonly string[],
      runCounts: runCounts as readonly number[],
      errorCounts: errorCounts as readonly number[],
      firstStartMicros: firstStartMicros as readonly number[],
    },
    scoreLists.map(([keyJson, scored, scores]) => ({
      keyJson: String(keyJson),
      exampleIds: parseList(scored) as string[],
      scores: parseList(scores) as number[],
    })),
  );
}

const parseList = (json: unknown): readonly unknown[] =>
  JSON.parse(String(json)) as readonly unknown[];

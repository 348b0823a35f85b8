import type { PostgresRunReader } from "../../runs/postgres/run-reader.ts";
import { runColumnsSql } from "../../runs/postgres/run-shape.ts";
import { listParameter, parameter } from "../../runs/postgres/run-conditions.ts";
import { createModelCallSql, roundCost } from "../../runs/usage/run-cost.ts";
import { sql } from "../../filter/sql.ts";
import type { PostgresDatabase } from "../../storage/postgres/postgres-database.ts";
import type { Promised } from "../../storage/promised.ts";
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

type PromisedExperimentReads = Promised<{ readonly experiments: ExperimentReads }>["experiments"];

const resultCondition =
  "r.tenant_id = $1 AND r.project_id = $2 AND r.parent_run_id IS NULL AND r.reference_example_id IS NOT NULL";
/** Number of model calls whose output tokens are averaged. */
const measuredCalls = 100;
/** Maximum number of runs of each experiment on one page. */
const maxRunsPerExperiment = 1_000;

/** Queries the results of experiments: scores, errors and latencies, and the beginnings of payloads. */
export class PostgresExperimentReader implements PromisedExperimentReads {
  readonly #db: PostgresDatabase;
  readonly #runs: PostgresRunReader;

  constructor(db: PostgresDatabase, runs: PostgresRunReader) {
    this.#db = db;
    this.#runs = runs;
  }

  async compare(tenantId: string, request: ComparisonRequest): Promise<ComparisonPage> {
    const experiments: ComparedExperiment[] = [];
    for (const id of request.experimentIds) {
      // One after the other, because a connection runs one query at a time.
      experiments.push(await this.#readExperiment(tenantId, id, request.comparativeId));
    }
    return createComparisonPage(experiments, request);
  }

  async #readExperiment(
    tenantId: string,
    id: string,
    comparativeId: string | undefined,
  ): Promise<ComparedExperiment> {
    const { rows: results } = await this.#db.query<{
      readonly example: string;
      readonly runs: number;
      readonly errors: number;
      readonly start: number;
    }>(
      `SELECT r.reference_example_id AS example, count(*) AS runs, sum(r.has_error) AS errors,
         min(r.start_us) AS start
       FROM runs r WHERE ${resultCondition} GROUP BY 1 ORDER BY 1`,
      [tenantId, id],
    );
    const { rows: scores } = await this.#db.query<{
      readonly key_json: string;
      readonly examples: readonly string[];
      readonly scores: readonly number[];
    }>(
      `SELECT f.key_json, array_agg(r.reference_example_id) AS examples, array_agg(f.score) AS scores
       FROM runs r JOIN feedback f ON f.tenant_id = r.tenant_id AND f.run_id = r.id
       WHERE ${resultCondition} AND f.score IS NOT NULL AND f.comparative_id IS NOT DISTINCT FROM $3::text
       GROUP BY 1 ORDER BY 1`,
      [tenantId, id, comparativeId ?? null],
    );
    return createComparedExperiment(
      id,
      {
        exampleIds: results.map(({ example }) => example),
        runCounts: results.map(({ runs }) => runs),
        errorCounts: results.map(({ errors }) => errors),
        firstStartMicros: results.map(({ start }) => start),
      },
      scores.map(({ key_json: keyJson, examples, scores: list }) => ({
        keyJson,
        exampleIds: examples,
        scores: list,
      })),
    );
  }

  async readRuns(tenantId: string, query: ComparedRunsQuery): Promise<readonly ComparedRun[]> {
    const { experimentIds, exampleIds, comparativeId, previewChars } = query;
    const compared: ComparedRun[] = [];
    for (const experimentId of experimentIds) {
      // One experiment after the other, so that the payloads of one can be freed before those of the next are read.
      const foundRuns = await this.#runs.readFound(
        sql`SELECT ${runColumnsSql} FROM runs r
          WHERE r.tenant_id = ${parameter(tenantId)} AND r.project_id = ${parameter(experimentId)}
            AND r.parent_run_id IS NULL AND r.reference_example_id IN ${listParameter(exampleIds)}
          ORDER BY r.start_us, r.id LIMIT ${String(maxRunsPerExperiment)}`,
        "f.start_us, f.id",
      );
      const runs = await this.#runs.readDetails(foundRuns, undefined);
      const scores = await this.#readRunScores(
        tenantId,
        runs.map(({ row }) => row.id),
        comparativeId,
      );
      const usage = await this.readUsageOfTraces(
        tenantId,
        runs.map(({ row }) => row.traceId),
      );
      compared.push(
        ...runs.map((run) => describeComparedRun(run, { scores, usage, previewChars })),
      );
    }
    return compared;
  }

  /** Reads the mean scores of runs, by run and key. */
  async #readRunScores(
    tenantId: string,
    runIds: readonly string[],
    comparativeId: string | undefined,
  ): Promise<ReadonlyMap<string, ReadonlyMap<string, number>>> {
    const { rows } = await this.#db.query<{
      readonly run_id: string;
      readonly key_json: string;
      readonly score: number;
    }>(
      `SELECT f.run_id, f.key_json, avg(f.score) AS score FROM feedback f
       WHERE f.tenant_id = $1 AND f.run_id = ANY($2::text[]) AND f.score IS NOT NULL
         AND f.comparative_id IS NOT DISTINCT FROM $3::text GROUP BY 1, 2`,
      [tenantId, runIds, comparativeId ?? null],
    );
    const scores = new Map<string, Map<string, number>>();
    for (const { run_id: runId, key_json: keyJson, score } of rows) {
      const scoresOfRun = scores.get(runId) ?? new Map<string, number>();
      scores.set(runId, scoresOfRun);
      scoresOfRun.set(String(JSON.parse(keyJson)), score);
    }
    return scores;
  }

  async measureOutputTokens(
    tenantId: string,
    experimentIds: readonly string[],
  ): Promise<number | null> {
    for (const id of experimentIds) {
      const { rows } = await this.#db.query<{ readonly mean: number | null }>(
        `SELECT avg(tokens) AS mean FROM (SELECT r.completion_tokens AS tokens FROM runs r
         WHERE r.tenant_id = $1 AND r.project_id = $2 AND ${createModelCallSql("r.run_type")} AND r.completion_tokens IS NOT NULL
         ORDER BY r.start_us DESC LIMIT ${measuredCalls}) t`,
        [tenantId, id],
      );
      const mean = rows[0]?.mean ?? null;
      if (mean !== null) {
        return mean;
      }
    }
    return null;
  }

  async readUsageOfTraces(
    tenantId: string,
    traceIds: readonly string[],
  ): Promise<ReadonlyMap<string, TraceUsage>> {
    const { rows } = await this.#db.query<{
      readonly trace_id: string;
      readonly tokens: number | null;
      readonly cost: number | null;
      readonly prompt_cost: number | null;
      readonly completion_cost: number | null;
    }>(
      `SELECT r.trace_id, sum(r.total_tokens) AS tokens, sum(r.total_cost) AS cost, sum(r.prompt_cost) AS prompt_cost,
         sum(r.completion_cost) AS completion_cost
       FROM runs r WHERE r.tenant_id = $1 AND r.trace_id = ANY($2::text[]) AND ${createModelCallSql("r.run_type")} GROUP BY 1`,
      [tenantId, traceIds],
    );
    return new Map(
      rows.map((row) => [
        row.trace_id,
        {
          tokens: round(row.tokens),
          cost: round(row.cost),
          promptCost: round(row.prompt_cost),
          completionCost: round(row.completion_cost),
        },
      ]),
    );
  }
}

const round = (sum: number | null): number | null => (sum === null ? null : roundCost(sum));

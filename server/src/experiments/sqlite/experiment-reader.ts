import { computeComparison } from "../comparison.ts";
import type {
  ComparisonPage,
  ComparisonRequest,
  ComparedExperiment,
  ExampleResult,
  ExampleScore,
  ExperimentReads,
  ExperimentTotals,
  TraceUsage,
} from "../experiment.ts";
import { createModelCallSql, roundCost } from "../../runs/usage/run-cost.ts";
import { withinDeadlineSql } from "../../storage/sqlite/query-clock.ts";
import { parseRows } from "../../storage/sqlite/rows.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";

const projectCondition =
  "r.project_id = ?2 AND EXISTS (SELECT 1 FROM projects p WHERE p.id = ?2 AND p.tenant_id = ?1)";
const experimentRunCondition = `${projectCondition} AND ${withinDeadlineSql("r.rowid")} AND r.parent_run_id IS NULL AND r.reference_example_id IS NOT NULL`;

/** Queries the results of experiments: scores, errors and latencies, but no payloads. */
export class ExperimentReader implements ExperimentReads {
  readonly #statements;

  constructor(db: Connection) {
    this.#statements = {
      results: db
        .prepare(
          `SELECT r.reference_example_id, count(*), sum(r.has_error), avg(r.end_us - r.start_us), min(r.start_us)
           FROM runs r WHERE ${experimentRunCondition} GROUP BY 1`,
        )
        .raw(),
      // With CROSS JOIN, SQLite reads the experiment's runs first, and then only the feedback on them.
      scores: db
        .prepare(
          `SELECT r.reference_example_id, f.key_json, avg(f.score) FROM runs r CROSS JOIN feedback f ON f.run_id = r.id
           WHERE ${experimentRunCondition} AND +f.tenant_id = ?1 AND f.score IS NOT NULL
             AND f.comparative_id IS ?3 GROUP BY 1, 2`,
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
    const { experimentIds, comparativeId, limit, offset, ...query } = request;
    const experiments = experimentIds.map((id) => ({
      id,
      results: this.#readResults(tenantId, id),
      scores: this.#readScores(tenantId, id, comparativeId),
    }));
    const { examples, exampleCount, keys } = computeComparison(experiments, query);
    return {
      exampleCount,
      matchingCount: examples.length,
      experiments: experiments.map(toTotals),
      keys,
      examples: examples.slice(offset, offset + limit),
    };
  }

  #readResults(tenantId: string, experimentId: string): readonly ExampleResult[] {
    return parseRows(this.#statements.results.all([tenantId, experimentId])).map(
      ([exampleId, runs, errors, latency, start]) => ({
        exampleId: String(exampleId),
        runCount: Number(runs),
        errorCount: Number(errors),
        latencyMicros: latency === null ? null : Number(latency),
        firstStartMicros: Number(start),
      }),
    );
  }

  #readScores(
    tenantId: string,
    experimentId: string,
    comparativeId?: string,
  ): readonly ExampleScore[] {
    const rows = this.#statements.scores.all([tenantId, experimentId, comparativeId ?? null]);
    return parseRows(rows).map(([exampleId, keyJson, score]) => ({
      exampleId: String(exampleId),
      key: String(JSON.parse(String(keyJson))),
      score: Number(score),
    }));
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

function toTotals({ id, results }: ComparedExperiment): ExperimentTotals {
  const latencies = results.flatMap(({ latencyMicros }) => latencyMicros ?? []);
  return {
    id,
    exampleCount: results.length,
    runCount: results.reduce((sum, { runCount }) => sum + runCount, 0),
    errorCount: results.reduce((sum, { errorCount }) => sum + errorCount, 0),
    latencyMicros:
      latencies.length === 0
        ? null
        : latencies.reduce((sum, latency) => sum + latency, 0) / latencies.length,
  };
}

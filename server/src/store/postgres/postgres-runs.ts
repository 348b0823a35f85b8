import { PostgresExperimentReader } from "../../experiments/postgres/experiment-reader.ts";
import { PostgresFilteredFeedback } from "../../feedback/postgres/filtered-feedback.ts";
import { PostgresRunFeedback } from "../../feedback/postgres/run-feedback.ts";
import { PostgresMetricCounter } from "../../metrics/postgres/metric-counter.ts";
import { PostgresMetricReader } from "../../metrics/postgres/metric-reader.ts";
import { createForgetMetricsSql, metricTables } from "../../metrics/postgres/metric-tables.ts";
import { PostgresRunProjects } from "../../projects/postgres/run-projects.ts";
import { PostgresEndedRoots } from "../../rules/postgres/ended-roots.ts";
import { PostgresCostRecomputer } from "../../runs/postgres/cost-recomputer.ts";
import { Partitions } from "../../runs/postgres/partitions.ts";
import { PostgresIngest } from "../../runs/postgres/run-ingest.ts";
import { PostgresRunListReader } from "../../runs/postgres/run-list-reader.ts";
import { PostgresRunReader } from "../../runs/postgres/run-reader.ts";
import { RunRows } from "../../runs/postgres/run-rows.ts";
import { runTables } from "../../runs/postgres/run-tables.ts";
import { TextIndexer } from "../../runs/postgres/text-index/text-indexer.ts";
import { textTables } from "../../runs/postgres/text-index/text-tables.ts";
import { PostgresRunWrites } from "../../runs/postgres/run-writes.ts";
import { TenantPrices } from "../../prices/postgres/tenant-prices.ts";
import { UnusedValues } from "../../runs/postgres/unused-values.ts";
import { PostgresTraceReader } from "../../runs/postgres/trace-reader.ts";
import { PostgresExpiredRuns } from "../../runs/retention/postgres/expired-runs.ts";
import { PostgresExpiredWeeks } from "../../runs/retention/postgres/expired-weeks.ts";
import { PostgresSharedTexts } from "../../runs/shared-texts/postgres-shared-texts.ts";
import { RunPageReader } from "../../runs/serializers/run-page-reader.ts";
import { PostgresStorageSizeReader } from "../../storage/postgres/storage-size-reader.ts";
import { PostgresThreadReader } from "../../threads/postgres/thread-reader.ts";
import type { RunEngine, RunEngineWriter, RunReaders } from "./run-engine.ts";

/** Reads and writes runs on PostgreSQL. */
export const postgresRuns: RunEngine = {
  tables: [runTables, metricTables, textTables],
  createReaders: (db, { feedback, tokenCipher, checkLimit }): RunReaders => {
    const runs = new PostgresRunReader(db, tokenCipher);
    const metrics = new PostgresMetricReader(db);
    const runLists = new PostgresRunListReader(db, runs, metrics);
    const traces = new PostgresTraceReader(db);
    const experiments = new PostgresExperimentReader(db, runs);
    return {
      experiments,
      metrics,
      runLists,
      runPages: new RunPageReader({ feedback, runLists, runs, traces }, checkLimit),
      runs,
      storage: new PostgresStorageSizeReader(db),
      threads: new PostgresThreadReader(db, { runs, usage: experiments, feedback }),
      traces,
    };
  },
  createReadParts: (db) => ({
    filteredFeedback: new PostgresFilteredFeedback(db),
    roots: new PostgresEndedRoots(db),
  }),
  createWriter: (db, { tokenCipher }): RunEngineWriter => {
    const partitions = new Partitions(db);
    const rows = new RunRows(db);
    const prices = new TenantPrices(db);
    const feedback = new PostgresRunFeedback(db);
    const ingest = new PostgresIngest(db, { partitions, rows, prices, feedback });
    return {
      runs: new PostgresRunWrites(db, tokenCipher),
      roots: new PostgresEndedRoots(db),
      retention: {
        runs: new PostgresExpiredRuns(db),
        sharedTexts: new PostgresSharedTexts(db),
        weeks: new PostgresExpiredWeeks(db, partitions, createForgetMetricsSql),
        values: new UnusedValues(db),
      },
      projectRuns: new PostgresRunProjects(db),
      costs: new PostgresCostRecomputer(db, rows, prices),
      ingest: (tenantId, batch) => ingest.ingest(tenantId, batch),
      clearCaches: () => ingest.clearCaches(),
      maintain: async () => {
        const nowMicros = Date.now() * 1_000;
        await partitions.ensureAhead(nowMicros);
        return partitions.dropEmpty(nowMicros);
      },
    };
  },
  backgroundTasks: [
    {
      // Counting must keep up with the runs that arrive, or dashboards would stay incomplete.
      pauseFactor: 0.25,
      createStep: (db) => {
        const counter = new PostgresMetricCounter(db);
        return () => counter.count();
      },
    },
    {
      pauseFactor: 1,
      createStep: (db) => {
        const indexer = new TextIndexer(db);
        return () => indexer.step();
      },
    },
  ],
};

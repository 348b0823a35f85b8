import { RequestError } from "../../model/errors.ts";
import { PostgresRunProjects } from "../../projects/postgres/run-projects.ts";
import { Partitions } from "../../runs/postgres/partitions.ts";
import { PostgresIngest } from "../../runs/postgres/run-ingest.ts";
import { PostgresRunListReader } from "../../runs/postgres/run-list-reader.ts";
import { PostgresRunReader } from "../../runs/postgres/run-reader.ts";
import { runTables } from "../../runs/postgres/run-tables.ts";
import { PostgresRunWrites } from "../../runs/postgres/run-writes.ts";
import { PostgresTraceReader } from "../../runs/postgres/trace-reader.ts";
import { RunPageReader } from "../../runs/serializers/run-page-reader.ts";
import type { RunEngine, RunEngineWriter, RunReaders } from "./run-engine.ts";

/** Answers a call that PostgreSQL can't serve yet. */
const refuse = (name: string): never => {
  throw new RequestError(
    501,
    `${name} is not available with the PostgreSQL store yet: use the default store (a data folder) for it`,
  );
};

/** Refuses each method of a resource. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the type of the resource is inferred where it is used
const refuseAll = <Resource extends object>(resource: string): Resource =>
  new Proxy({} as Resource, {
    get: (_target, method) => async () => refuse(`${resource}.${String(method)}`),
  });

/** Runs on PostgreSQL. */
export const postgresRuns: RunEngine = {
  tables: [runTables],
  createReaders: (db, { feedback, tokenCipher, checkLimit }): RunReaders => {
    const runs = new PostgresRunReader(db, tokenCipher);
    const runLists = new PostgresRunListReader(db, runs);
    const traces = new PostgresTraceReader(db);
    return {
      experiments: refuseAll("experiments"),
      metrics: refuseAll("metrics"),
      runLists,
      runPages: new RunPageReader({ feedback, runLists, runs, traces }, checkLimit),
      runs,
      storage: refuseAll("storage"),
      threads: refuseAll("threads"),
      traces,
    };
  },
  createReadParts: () => ({
    filteredFeedback: refuseAll("feedback"),
    roots: refuseAll("rules"),
  }),
  createWriter: (db, { tokenCipher }): RunEngineWriter => {
    const partitions = new Partitions(db);
    const ingest = new PostgresIngest(db, partitions);
    return {
      runs: new PostgresRunWrites(db, tokenCipher),
      roots: refuseAll("rules"),
      expiredRuns: refuseAll("retention"),
      projectRuns: new PostgresRunProjects(db),
      costs: refuseAll("prices"),
      ingest: (tenantId, batch) => ingest.ingest(tenantId, batch),
      clearCaches: () => ingest.clearCaches(),
      maintain: async () => {
        await partitions.ensureAhead(Date.now() * 1_000);
        return false;
      },
    };
  },
};

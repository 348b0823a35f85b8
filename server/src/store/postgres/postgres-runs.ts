import { RequestError } from "../../model/errors.ts";
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
  tables: [],
  createReaders: (): RunReaders => ({
    experiments: refuseAll("experiments"),
    metrics: refuseAll("metrics"),
    runLists: refuseAll("runLists"),
    runPages: refuseAll("runPages"),
    runs: refuseAll("runs"),
    storage: refuseAll("storage"),
    threads: refuseAll("threads"),
    traces: refuseAll("traces"),
  }),
  createReadParts: () => ({
    filteredFeedback: refuseAll("feedback"),
    roots: refuseAll("rules"),
  }),
  createWriter: (): RunEngineWriter => ({
    runs: refuseAll("runs"),
    roots: refuseAll("rules"),
    expiredRuns: refuseAll("retention"),
    projectRuns: { deleteAll: () => refuse("projects.delete"), clearCache: () => undefined },
    costs: refuseAll("prices"),
    ingest: async () => refuse("the ingestion of runs"),
    clearCaches: () => undefined,
    maintain: async () => false,
  }),
};

import { randomUUID } from "node:crypto";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Database } from "../../src/storage/query.ts";
import { addedTables } from "../../src/store/repositories.ts";
import { openPostgres, openServers, openSqlite } from "./repository-engines.ts";
import type { Engines, RepositoryEngine } from "./repository-engines.ts";

// The repositories of small resources are written once. The same tests run on SQLite and on PostgreSQL, compiled to
// WebAssembly, and at the end each query of the repositories has run on PostgreSQL.

/** NUL and half of a surrogate pair, which a text column can't store, and a backslash before what looks like an escape. */
export const strangeText = `<b>'; DROP TABLE projects; --\u0000\ud800"\\u0000 \u00e9`;

/** A text that a text column can store. */
export const strangeName = `<b>'; DROP TABLE runs; -- \u00e9`;

/** The tenants of each test. Only the first has a handle, which is `mill`. */
export const [tenantId, otherId] = [randomUUID(), randomUUID()];

/** Tables that the tests write. They are empty before each test. */
const tables = [
  "projects",
  "prompts",
  "prompt_commits",
  "prompt_tags",
  "prompt_likes",
  "tenants",
  "api_keys",
  "settings",
  "runs",
  "datasets",
  "examples",
  "annotation_queues",
  "annotation_queue_runs",
  "annotation_queue_reviews",
  "comparatives",
  "comparative_experiments",
  "feedback",
  "feedback_tokens",
  "shares",
  "trace_shares",
  "thread_shares",
  ...addedTables
    .flatMap((sql) => [...sql.matchAll(/CREATE TABLE (\w+)/g)].map(([, name]) => String(name)))
    // The tables of runs are written for each engine.
    .filter((name) => !/^(?:metric|experiment)_?/.test(name)),
];

/** The query that runs on PostgreSQL is reported to the file whose tests run. */
let onPostgresQuery: (query: unknown) => void = () => undefined;

const openers: Engines = [
  ["SQLite", openSqlite],
  ["PostgreSQL", () => openPostgres((query) => onPostgresQuery(query), tenantId)],
  ...openServers((query) => onPostgresQuery(query), tenantId),
];

/** The engines that run. PostgreSQL takes seconds to start, so all files of a process share one. */
const started = new Map<string, Promise<RepositoryEngine>>();

function startOnce(name: string, open: () => Promise<RepositoryEngine>): Promise<RepositoryEngine> {
  const engine = started.get(name) ?? open();
  started.set(name, engine);
  return engine;
}

/** What the tests of a repository need of an engine. */
export interface RepositoryFixture {
  readonly db: Database;
  /** Calls a write in a transaction, as the writer thread does. */
  write<Result>(call: () => Promise<Result>): Promise<Result>;
  /** Executes SQL that every engine supports. */
  exec(sql: string): Promise<void>;
  /** Inserts a project, and returns its id. */
  insertProject(owner?: string): Promise<string>;
  /** Inserts a run, and returns its id. */
  insertRun(
    projectId: string,
    rest?: { readonly id?: string; readonly traceId?: string; readonly parentId?: string },
  ): Promise<string>;
  /** Inserts an example with one content, and returns its id. */
  insertExample(datasetId: string): Promise<string>;
}

/**
 * Runs the tests that `define` declares on both engines. A last test fails if a query of `queries`, tables of queries by
 * name, did not run on PostgreSQL.
 */
export function describeRepositories(
  queries: Readonly<Record<string, object>>,
  define: (fixture: RepositoryFixture) => void,
): void {
  const queriesRun = new Set<unknown>();

  describe.each(openers)("on %s", (name, open) => {
    let engine: RepositoryEngine;
    beforeAll(async () => {
      onPostgresQuery = (query) => queriesRun.add(query);
      engine = await startOnce(name, open);
    });
    beforeEach(() =>
      engine.exec(`${tables.map((table) => `DELETE FROM ${table};`).join("\n")}
        INSERT INTO tenants (id, handle, display_name_json, created_us) VALUES
          ('${tenantId}', 'mill', '"mill"', 1), ('${otherId}', NULL, '"other"', 2)`),
    );
    define({
      get db() {
        return engine.db;
      },
      write: (call) => engine.transact(call),
      exec: (sql) => engine.exec(sql),
      insertProject: async (owner = tenantId) => {
        const id = randomUUID();
        await engine.exec(`INSERT INTO projects (id, tenant_id, name_json, start_us)
          VALUES ('${id}', '${owner}', '"${id}"', 1)`);
        return id;
      },
      insertRun: async (projectId, rest = {}) => {
        const { id = randomUUID(), traceId = "trace", parentId = "" } = rest;
        const parent = parentId === "" ? "NULL" : `'${parentId}'`;
        await engine.exec(`INSERT INTO runs (trace_id, id, project_id, name, run_type, start_us, has_error,
            parent_run_id, dotted_order, posted, patched)
          VALUES ('${traceId}', '${id}', '${projectId}', 'r', 'llm', 7, 0, ${parent}, '', 1, 0)`);
        return id;
      },
      insertExample: async (datasetId) => {
        const id = randomUUID();
        await engine.exec(`INSERT INTO examples (key, tenant_id, dataset_id, id, position, created_us, from_us,
            inputs, metadata) VALUES (1, '${tenantId}', '${datasetId}', '${id}', 1, 1, 1, '{}', '{}')`);
        await engine.indexExamples();
        return id;
      },
    });
  });

  test("each query of the repositories has run on PostgreSQL", () => {
    const unused = Object.entries(queries).flatMap(([table, named]) =>
      Object.entries<unknown>({ ...named }).flatMap(([name, query]) =>
        queriesRun.has(query) ? [] : [`${table}.${name}`],
      ),
    );
    expect(unused).toEqual([]);
  });
}

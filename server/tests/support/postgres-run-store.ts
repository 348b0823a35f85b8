import { randomUUID } from "node:crypto";
import { ProjectReader } from "../../src/projects/project-reader.ts";
import { ProjectWriter } from "../../src/projects/project-writer.ts";
import { PostgresRunProjects } from "../../src/projects/postgres/run-projects.ts";
import { LongWrite } from "../../src/storage/long-write.ts";
import { Partitions } from "../../src/runs/postgres/partitions.ts";
import { PostgresIngest } from "../../src/runs/postgres/run-ingest.ts";
import { PostgresRunReader } from "../../src/runs/postgres/run-reader.ts";
import { runTables } from "../../src/runs/postgres/run-tables.ts";
import { PostgresRunWrites } from "../../src/runs/postgres/run-writes.ts";
import type { PostgresClient } from "../../src/storage/postgres/postgres-client.ts";
import { PostgresDatabase } from "../../src/storage/postgres/postgres-database.ts";
import type { RowKeys } from "../../src/storage/row-keys.ts";
import { TokenKeys } from "../../src/storage/sqlite/token-keys.ts";
import { loadLibraryPrices } from "../../src/prices/library-prices.ts";
import { translateTables } from "./repository-engines.ts";
import type { RunTestStore } from "./store-fixture.ts";

// A server loads the prices before it stores runs.
await loadLibraryPrices();

/** The tables of other resources that runs need. */
const otherTables = [
  "tenants",
  "projects",
  "shares",
  "trace_shares",
  "thread_shares",
  "feedback",
  "feedback_tokens",
  "annotation_queue_runs",
  "comparatives",
  "comparative_experiments",
  "model_prices",
];

/** Creates the tables of runs and those that they need. */
export async function createRunTables(client: PostgresClient): Promise<void> {
  await client.exec(`${translateTables(otherTables)};
    ${["shares", "trace_shares", "thread_shares"]
      .map((table) => `ALTER TABLE ${table} ADD tenant_id TEXT COLLATE "C" NOT NULL DEFAULT '';`)
      .join("\n")}
    ${runTables}`);
}

const rowKeys: RowKeys = {
  keyOf: (_kind, _tenantId, id) => id,
  assignQualifiedKey: (_kind, _tenantId, id) => id,
};

/** Each call is a transaction, one after the other. */
export function openRunStore(
  client: PostgresClient,
): RunTestStore & { readonly db: PostgresDatabase } {
  const db = new PostgresDatabase(client);
  const tokens = TokenKeys.createRandom();
  const ingest = new PostgresIngest(db, new Partitions(db));
  let last: Promise<unknown> = Promise.resolve();
  const transact = <Result>(call: () => Promise<Result>): Promise<Result> => {
    const result = last.then(async () => {
      await client.exec("BEGIN");
      try {
        const value = await call();
        await client.exec("COMMIT");
        return value;
      } catch (cause) {
        await client.exec("ROLLBACK");
        ingest.clearCaches();
        throw cause;
      }
    });
    last = result.catch(() => undefined);
    return result;
  };
  const inTransactions = <Resource extends object>(resource: Resource): Resource =>
    new Proxy(resource, {
      get: (target, name) => {
        const method: unknown = Reflect.get(target, name);
        return typeof method === "function"
          ? (...args: readonly unknown[]) =>
              transact(async () => {
                const value: unknown = await Reflect.apply(method, target, args);
                return value instanceof LongWrite ? await finish(value) : value;
              })
          : method;
      },
    });
  const projectWriter = new ProjectWriter(db, rowKeys, new PostgresRunProjects(db));
  return {
    db,
    defaultTenantId: randomUUID(),
    ingest: async (tenantId, batch) =>
      (await transact(() => ingest.ingest(tenantId, batch))).result,
    read: {
      runs: inTransactions(new PostgresRunReader(db, tokens)),
      projects: inTransactions(new ProjectReader(db)),
    },
    write: {
      runs: inTransactions(new PostgresRunWrites(db, tokens)),
      projects: inTransactions(projectWriter) as unknown as RunTestStore["write"]["projects"],
    },
  };
}

async function finish(write: LongWrite<unknown>): Promise<unknown> {
  const steps = write.asyncSteps;
  if (steps === undefined) {
    return write.finish();
  }
  let step = await steps.next();
  while (step.done !== true) {
    step = await steps.next();
  }
  return step.value;
}

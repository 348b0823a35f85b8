import { randomUUID } from "node:crypto";
import { FeedbackReader } from "../../src/feedback/feedback-reader.ts";
import { ProjectReader } from "../../src/projects/project-reader.ts";
import { ProjectWriter } from "../../src/projects/project-writer.ts";
import { LongWrite } from "../../src/storage/long-write.ts";
import type { PostgresClient } from "../../src/storage/postgres/postgres-client.ts";
import { PostgresDatabase } from "../../src/storage/postgres/postgres-database.ts";
import type { RowKeys } from "../../src/storage/row-keys.ts";
import { TokenKeys } from "../../src/storage/sqlite/token-keys.ts";
import { loadLibraryPrices } from "../../src/prices/library-prices.ts";
import { postgresRuns } from "../../src/store/postgres/postgres-runs.ts";
import { PgliteClient } from "./repository-engines.ts";
import type { RunTestStore } from "./store-fixture.ts";

// A server loads the prices before it stores runs.
await loadLibraryPrices();

/** A database in memory with the tables of the server. */
export const openPglite = (): Promise<PgliteClient> => PgliteClient.createMigrated();

const rowKeys: RowKeys = {
  keyOf: (_kind, _tenantId, id) => id,
  assignQualifiedKey: (_kind, _tenantId, id) => id,
};

/** The store of the tests, with the readers that PostgreSQL has of its own. */
export interface PostgresRunStore extends RunTestStore {
  readonly db: PostgresDatabase;
  readonly read: RunTestStore["read"] &
    ReturnType<typeof postgresRuns.createReaders> & { readonly feedback: FeedbackReader };
  /** The parts of writers, to be called in {@link transact}. */
  readonly writer: ReturnType<typeof postgresRuns.createWriter>;
  readonly transact: <Result>(call: () => Promise<Result>) => Promise<Result>;
}

/** Each call is a transaction, one after the other. */
export function openRunStore(client: PostgresClient): PostgresRunStore {
  const db = new PostgresDatabase(client);
  const tokens = TokenKeys.createRandom();
  const writer = postgresRuns.createWriter(db, { tokenCipher: tokens });
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
        writer.clearCaches();
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
  const feedback = new FeedbackReader(
    db,
    tokens,
    postgresRuns.createReadParts(db).filteredFeedback,
  );
  const projectWriter = new ProjectWriter(db, rowKeys, writer.projectRuns);
  return {
    db,
    writer,
    transact,
    defaultTenantId: randomUUID(),
    ingest: async (tenantId, batch) =>
      (await transact(() => writer.ingest(tenantId, batch))).result,
    read: {
      ...(Object.fromEntries(
        Object.entries(
          postgresRuns.createReaders(db, {
            tokenCipher: tokens,
            feedback,
            checkLimit: () => undefined,
          }),
        ).map(([name, reader]) => [name, inTransactions<object>(reader)]),
      ) as ReturnType<typeof postgresRuns.createReaders>),
      feedback: inTransactions(feedback),
      projects: inTransactions(new ProjectReader(db)),
    },
    write: {
      runs: inTransactions(writer.runs),
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

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { PgliteClient } from "../../../tests/support/repository-engines.ts";
import { querySql, testServerUrl } from "../../../tests/support/postgres-server.ts";
import { PostgresStores } from "../../../tests/support/postgres-stores.ts";
import { openPglite, openRunStore } from "../../../tests/support/postgres-run-store.ts";
import type { PostgresRunStore } from "../../../tests/support/postgres-run-store.ts";
import { patchOf, StoreFixture } from "../../../tests/support/store-fixture.ts";
import type { RunTestStore } from "../../../tests/support/store-fixture.ts";
import { someMicros, wireRun } from "../../../tests/support/wire-runs.ts";
import type { Store } from "../store.ts";
import { describeIngest } from "./ingest-contract.ts";
import { describeSharedTexts } from "./shared-text-contract.ts";
import { describeProjects } from "./project-contract.ts";
import { describeQueries } from "./query-contract.ts";

describe("runs in PostgreSQL", () => {
  let client: PgliteClient;
  let store: PostgresRunStore;
  // One database for all tests, each with a tenant of its own.
  beforeAll(async () => {
    client = await openPglite();
    store = openRunStore(client);
  }, 60_000);
  afterAll(() => client.close());
  const open = async (): Promise<StoreFixture<RunTestStore>> =>
    new StoreFixture(store, randomUUID());
  describeIngest(open);
  describeQueries(open);
  describeProjects(open);
  describeSharedTexts({
    // PGlite takes a quarter of a second for each.
    randomOrders: 10,
    open,
    count: (tenantId) =>
      store.transact(async () => {
        const { rows } = await store.db.query<{
          readonly texts: number;
          readonly payloads: number;
        }>(
          `SELECT (SELECT count(*)::int FROM shared_texts WHERE tenant_id = $1) AS texts,
             (SELECT count(*)::int FROM payloads WHERE tenant_id = $1 AND parts IS NOT NULL) AS payloads`,
          [tenantId],
        );
        return rows[0] ?? { texts: -1, payloads: -1 };
      }),
    sweep: async () => {
      while (
        (await store.transact(async () => store.writer.retention.sharedTexts.deleteUnused())) > 0
      ) {
        // A text that is deleted may be the last that continued another one.
      }
    },
  });
});

describe.skipIf(testServerUrl === undefined)("the store in PostgreSQL", () => {
  let servers: PostgresStores;
  let stores: readonly [Store, Store];
  beforeAll(async () => {
    servers = await PostgresStores.create();
    stores = [await servers.open(), await servers.open()];
  }, 60_000);
  afterAll(() => servers.close());
  const open = async (): Promise<StoreFixture> => {
    const tenant = await stores[0].write.tenants.create({ handle: null, displayName: "test" });
    return new StoreFixture(stores[0], tenant.id);
  };
  describeIngest(open);
  describeQueries(open);
  describeProjects(open);
  describeSharedTexts({
    open,
    count: async (tenantId) => {
      const [row] = await querySql(servers.database.adminUrl, [
        `SELECT (SELECT count(*)::int FROM shared_texts WHERE tenant_id = '${tenantId}') AS texts,
           (SELECT count(*)::int FROM payloads WHERE tenant_id = '${tenantId}' AND parts IS NOT NULL) AS payloads`,
      ]);
      return { texts: Number(row?.["texts"]), payloads: Number(row?.["payloads"]) };
    },
    sweep: async () => {
      for (let next: string | null = ""; next !== null;) {
        ({ next } = await stores[0].write.retention.sweep(Date.now() * 1_000, next));
      }
    },
  });

  test("two servers that receive the same runs at the same time store each once", async () => {
    const { tenantId } = await open();
    const fixtures = stores.map((store) => new StoreFixture(store, tenantId));
    const root = wireRun({ session_name: "shared" });
    const runs = [
      root,
      ...Array.from({ length: 60 }, (_, index) =>
        wireRun({ parent: root, session_name: "shared", micros: someMicros + index, name: "post" }),
      ),
    ];
    const patches = runs.map((run) => patchOf(run, { outputs: { done: true }, name: "patch" }));
    // Each server gets all runs in batches of another size and order.
    const results = await Promise.all(
      fixtures.flatMap((fixture, place) =>
        [7, 11].flatMap((size) => {
          const [posts, updates] = [runs, patches].map((list) =>
            place === 0 ? list : list.toReversed(),
          );
          return Array.from({ length: Math.ceil(runs.length / size) }, (_, index) =>
            fixture.send({
              post: posts?.slice(index * size, (index + 1) * size) ?? [],
              patch: updates?.slice(index * size, (index + 1) * size) ?? [],
            }),
          );
        }),
      ),
    );
    const sum = (name: "accepted" | "duplicates"): number =>
      results.reduce((total, result) => total + result[name], 0);
    expect(results.flatMap(({ rejected }) => rejected)).toEqual([]);
    expect([sum("accepted"), sum("duplicates")]).toEqual([122, 366]);
    const names = await fixtures[0]?.query({ traceId: root.id });
    expect(names).toEqual(runs.map(() => "patch"));
    const projects = await stores[1].read.projects.list(tenantId, { limit: 10, offset: 0 });
    expect(projects.map(({ name }) => name)).toEqual(["shared"]);
  }, 60_000);

  test("a run that one server stores is counted on both, and another tenant sees none of it", async () => {
    const { tenantId } = await open();
    const other = await open();
    const run = wireRun();
    await new StoreFixture(stores[0], tenantId).send({ post: [run] });
    expect(await new StoreFixture(stores[1], tenantId).query({})).toEqual(["a run"]);
    expect(await other.query({ ids: [run.id] })).toEqual([]);
    expect(await other.send({ post: [{ ...run, name: "own" }] })).toMatchObject({ accepted: 1 });
    expect(await other.query({})).toEqual(["own"]);
    expect(await new StoreFixture(stores[1], tenantId).query({})).toEqual(["a run"]);
  });
});

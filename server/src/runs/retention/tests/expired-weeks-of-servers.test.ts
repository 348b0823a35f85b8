import { Client } from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openRunStore } from "../../../../tests/support/postgres-run-store.ts";
import { querySql, testServerUrl } from "../../../../tests/support/postgres-server.ts";
import { PostgresStores } from "../../../../tests/support/postgres-stores.ts";
import { StoreFixture } from "../../../../tests/support/store-fixture.ts";
import { wireRun } from "../../../../tests/support/wire-runs.ts";
import { parseStoreUrl } from "../../../model/store-url.ts";
import { PostgresConnection } from "../../../storage/postgres/postgres-connection.ts";
import type { Store } from "../../../store/store.ts";
import { toWeek, weekMicros } from "../../postgres/partitions.ts";

const nowMicros = Date.now() * 1_000;

describe.skipIf(testServerUrl === undefined)("weeks that servers remove", () => {
  let servers: PostgresStores;
  let stores: readonly [Store, Store];
  let testCount = 0;
  let startMicros = 0;
  let fixture: StoreFixture;
  beforeAll(async () => {
    servers = await PostgresStores.create();
    stores = [await servers.open(), await servers.open()];
  }, 60_000);
  afterAll(() => servers.close());
  beforeEach(async () => {
    testCount += 1;
    startMicros = (toWeek(nowMicros) - 10 * testCount) * weekMicros + 86_400_000_000;
    const tenant = await stores[0].write.tenants.create({ handle: null, displayName: "test" });
    fixture = new StoreFixture(stores[0], tenant.id);
  });

  const createRuns = (count: number, session_name: string) =>
    Array.from({ length: count }, (_, index) =>
      wireRun({ micros: startMicros + index, session_name, name: `run ${index}` }),
    );
  const sweepAll = async (store: Store): Promise<number> => {
    let deleted = 0;
    for (let next: string | null = ""; next !== null;) {
      const step: { deleted: number; next: string | null } = await store.write.retention.sweep(
        nowMicros,
        next,
      );
      deleted += step.deleted;
      ({ next } = step);
    }
    return deleted;
  };
  const countRows = async (table: string): Promise<unknown> => {
    const [row] = await querySql(servers.database.adminUrl, [
      `SELECT count(*)::int AS rows FROM ${table} WHERE tenant_id = '${fixture.tenantId}'`,
    ]);
    return row?.["rows"];
  };
  const findTables = async (): Promise<unknown> => {
    const [row] = await querySql(servers.database.adminUrl, [
      `SELECT array_agg(relname::text) AS names FROM pg_class
       WHERE relkind = 'r' AND (relname = 'runs_w${toWeek(startMicros)}' OR relname LIKE 'expired\\_%')`,
    ]);
    return row?.["names"];
  };

  test("two servers that sweep at once remove each run once, and keep those of another tenant", async () => {
    const other = await stores[1].write.tenants.create({ handle: null, displayName: "other" });
    const kept = new StoreFixture(stores[1], other.id);
    const run = wireRun({ micros: nowMicros, name: "kept" });
    await kept.send({ post: [run] });
    await fixture.send({ post: createRuns(500, "old") });
    await stores[0].write.retention.set(fixture.tenantId, { projectId: null, days: 1 });
    const counts = await Promise.all(stores.map((store) => sweepAll(store)));
    // The first to finish may leave steps to the other one.
    expect((counts[0] ?? 0) + (counts[1] ?? 0)).toBe(500);
    expect(await countRows("run_keys")).toBe(0);
    expect(await countRows("run_facets")).toBe(0);
    expect(await findTables()).toBeNull();
    expect(await kept.query({})).toEqual(["kept"]);
  }, 60_000);

  test("a sweep does not wait for a transaction that reads runs", async () => {
    await fixture.send({ post: createRuns(3, "old") });
    await stores[0].write.retention.set(fixture.tenantId, { projectId: null, days: 1 });
    const reading = new Client({ connectionString: servers.database.adminUrl });
    await reading.connect();
    await reading.query("BEGIN");
    await reading.query("SELECT FROM runs LIMIT 1");
    expect(await sweepAll(stores[0])).toBe(3);
    expect(await findTables()).toEqual([`runs_w${toWeek(startMicros)}`]);
    await reading.end();
    expect(await fixture.query({})).toEqual([]);
  }, 60_000);

  test("a week in which a run was stored while it was examined stays", async () => {
    await fixture.send({ post: createRuns(3, "old") });
    const connection = await PostgresConnection.connect(parseStoreUrl(servers.database.adminUrl), {
      applicationName: "millrace tests",
      statementMs: 60_000,
    });
    const store = openRunStore(connection);
    const { weeks } = store.writer.retention;
    let isStored = false;
    const findExpiry = async (tenantId: string): Promise<number | null> => {
      if (tenantId === fixture.tenantId && !isStored) {
        isStored = true;
        await fixture.send({ post: createRuns(1, "late") });
      }
      return tenantId === fixture.tenantId ? nowMicros : null;
    };
    expect(await store.transact(async () => weeks?.removeWeek(findExpiry, true))).toBe(false);
    expect(await countRows("runs")).toBe(4);
    await expect
      .poll(() => store.transact(async () => weeks?.removeWeek(findExpiry, true)), {
        timeout: 20_000,
      })
      .toBe(true);
    expect(await countRows("runs")).toBe(0);
    await connection.close();
  }, 60_000);
});

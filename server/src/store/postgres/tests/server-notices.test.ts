import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import {
  createTestDatabase,
  runSql,
  testServerUrl,
} from "../../../../tests/support/postgres-server.ts";
import type { TestDatabase } from "../../../../tests/support/postgres-server.ts";
import type { Activity } from "../../../runs/activity.ts";
import { PostgresConnection } from "../../../storage/postgres/postgres-connection.ts";
import { parseStoreUrl } from "../../../model/store-url.ts";
import { ServerNotices } from "../server-notices.ts";
import type { Notice, NoticeOptions } from "../server-notices.ts";

describe.skipIf(testServerUrl === undefined)("the servers of a database", () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  /** A server, and what it was notified of. */
  const startServer = async (options: NoticeOptions = {}) => {
    const notices: Notice[] = [];
    const server = new ServerNotices(
      () =>
        PostgresConnection.connect(parseStoreUrl(database.url), {
          applicationName: "test",
          statementMs: 10_000,
        }),
      { onNotice: (notice) => void notices.push(notice), onLeader: () => undefined },
      { collectMs: 1, retryMs: 20, ...options },
    );
    onTestFinished(() => server.close());
    await server.start();
    return {
      server,
      notices,
      activity: () => notices.flatMap(({ activity = [] }) => activity),
    };
  };

  const createActivity = (runs: number, latencies: Activity["latencies"] = []): Activity => ({
    tenantId: randomUUID(),
    projectId: randomUUID(),
    runs,
    traces: 1,
    errors: 0,
    tokens: 2,
    cost: 0.5,
    latencies,
  });

  test("notify the others, and not themselves, of what they store and change", async () => {
    const [one, other] = [await startServer(), await startServer()];
    const sent = [createActivity(3, [[1, 2]])];
    one.server.sendActivity(sent);
    one.server.sendChange();
    await expect.poll(() => other.activity()).toEqual(sent);
    await expect.poll(() => other.notices.filter(({ hasChanged }) => hasChanged).length).toBe(2);
    expect(one.activity()).toEqual([]);
  });

  test("divide what is too long for one notice; a histogram that alone is too long is left out", async () => {
    const [one, other] = [await startServer(), await startServer()];
    const latencies = Array.from({ length: 2_000 }, (_, index) => [index, 1] as const);
    const many = Array.from({ length: 200 }, (_, index) => createActivity(index));
    one.server.sendActivity([createActivity(7, latencies), ...many]);
    await expect.poll(() => other.activity().length).toBe(201);
    expect(other.activity()[0]).toMatchObject({ runs: 7, latencies: [] });
    expect(other.activity().slice(1)).toEqual(many);
  });

  test("ignore notices that are malformed", async () => {
    const { notices, activity } = await startServer();
    const count = notices.length;
    const other = await startServer();
    for (const payload of ["", "{", "7", '{"from":"x","activity":[{"runs":"many"}]}']) {
      await runSql(database.url, [`NOTIFY millrace_notices, '${payload}'`]);
    }
    other.server.sendActivity([createActivity(9)]);
    await expect.poll(() => activity().map(({ runs }) => runs)).toEqual([9]);
    expect(notices.length).toBe(count + 1);
  });

  test("do not lead if they may not, even if no other does", async () => {
    const { server } = await startServer({ canLead: false });
    const other = await startServer();
    await expect.poll(() => other.server.isLeader).toBe(true);
    expect(server.isLeader).toBe(false);
  });

  test("connect again, and one of them is the leader at any time", async () => {
    const servers = [await startServer(), await startServer(), await startServer()];
    const countLeaders = (): number => servers.filter(({ server }) => server.isLeader).length;
    await expect.poll(countLeaders).toBe(1);
    await runSql(database.adminUrl, [
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    ]);
    await expect.poll(countLeaders).toBe(1);
    const [one, other] = servers;
    const sent = createActivity(5);
    // A notice that is sent before the other one listens again is lost.
    await expect
      .poll(() => {
        one?.server.sendActivity([sent]);
        return other?.activity().some(({ projectId }) => projectId === sent.projectId);
      })
      .toBe(true);
  });
});

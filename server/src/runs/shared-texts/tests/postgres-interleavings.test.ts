import { randomUUID } from "node:crypto";
import { Client, types } from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { ChunkedSender } from "../../../../tests/support/chunked-runs.ts";
import { openRunStore } from "../../../../tests/support/postgres-run-store.ts";
import type { PostgresRunStore } from "../../../../tests/support/postgres-run-store.ts";
import { createTestDatabase, testServerUrl } from "../../../../tests/support/postgres-server.ts";
import type { TestDatabase } from "../../../../tests/support/postgres-server.ts";
import { wireRun } from "../../../../tests/support/wire-runs.ts";
import { migrate } from "../../../storage/postgres/migrations.ts";
import type { PostgresClient } from "../../../storage/postgres/postgres-client.ts";
import { postgresFormats } from "../../../store/postgres/formats.ts";

/** A connection whose transactions the tests begin and end themselves. */
class TestConnection implements PostgresClient {
  readonly store: PostgresRunStore;
  readonly #client: Client;

  private constructor(client: Client) {
    this.#client = client;
    this.store = openRunStore(this);
  }

  static async open(connectionString: string): Promise<TestConnection> {
    const numbers: ReadonlySet<number> = new Set([types.builtins.INT8, types.builtins.NUMERIC]);
    const client = new Client({
      connectionString,
      types: {
        getTypeParser: (id, format) =>
          numbers.has(id) ? Number : (types.getTypeParser(id, format) as (text: string) => unknown),
      },
    });
    await client.connect();
    return new TestConnection(client);
  }

  async run({ text, values }: { readonly text: string; readonly values: readonly unknown[] }) {
    const { rows, rowCount } = await this.#client.query<Readonly<Record<string, unknown>>>(text, [
      ...values,
    ]);
    return { rows, count: rowCount ?? 0 };
  }

  async exec(sql: string): Promise<void> {
    await this.#client.query(sql);
  }

  close(): Promise<void> {
    return this.#client.end();
  }
}

const list = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `item ${index} ${"of a list ".repeat(40)}`);

describe.skipIf(testServerUrl === undefined)("shared texts of several transactions", () => {
  let database: TestDatabase;
  let ingesting: TestConnection;
  let other: TestConnection;
  let observing: TestConnection;
  let tenantId: string;
  beforeAll(async () => {
    database = await createTestDatabase();
    [ingesting, other, observing] = [
      await TestConnection.open(database.adminUrl),
      await TestConnection.open(database.adminUrl),
      await TestConnection.open(database.adminUrl),
    ];
    await migrate(ingesting, postgresFormats);
  }, 60_000);
  afterAll(async () => {
    await Promise.all([ingesting, other, observing].map((connection) => connection.close()));
    await database.drop();
  });
  beforeEach(() => {
    tenantId = randomUUID();
  });

  const ingest = ({ store }: TestConnection, run: ReturnType<typeof wireRun>) =>
    store.writer.ingest(tenantId, new ChunkedSender(tenantId).createBatch([{ run }]));
  const sweep = ({ store }: TestConnection) => store.writer.retention.sharedTexts.deleteUnused();
  const sweepAll = async (): Promise<void> => {
    while ((await other.store.transact(async () => sweep(other))) > 0) {
      // A deleted text may be the last one that continued another text.
    }
  };
  const countTexts = async (): Promise<unknown> => {
    const { rows } = await observing.run({
      text: "SELECT count(*)::int AS texts FROM shared_texts WHERE tenant_id = $1",
      values: [tenantId],
    });
    return rows[0]?.["texts"];
  };
  const readInputs = async (id: string): Promise<unknown> => {
    const run = await observing.store.read.runs.find(tenantId, id);
    return JSON.parse(String(run?.bodies[0]));
  };
  /** Waits until a connection waits for a lock. */
  const untilBlocked = () =>
    expect
      .poll(
        async () =>
          (
            await observing.run({
              text: `SELECT count(*)::int AS blocked FROM pg_stat_activity
                WHERE datname = current_database() AND wait_event_type = 'Lock'`,
              values: [],
            })
          ).rows[0]?.["blocked"],
        { timeout: 20_000 },
      )
      .toBe(1);
  /** Stores a run and deletes its payload alone, so that its text is unused. */
  const leaveUnusedText = async (): Promise<void> => {
    const run = wireRun({ inputs: { list: list(50) } });
    await other.store.transact(() => ingest(other, run));
    await other.exec(`DELETE FROM payloads WHERE id = '${run.id}'`);
    expect(await countTexts()).toBe(1);
  };

  test("a text is not deleted while a transaction stores a run that refers to it", async () => {
    await leaveUnusedText();
    const run = wireRun({ inputs: { list: list(50) } });
    await ingesting.exec("BEGIN");
    await ingest(ingesting, run);
    await sweepAll();
    expect(await countTexts()).toBe(1);
    await ingesting.exec("COMMIT");
    await sweepAll();
    expect(await countTexts()).toBe(1);
    expect(await readInputs(run.id)).toEqual({ inputs: { list: list(50) } });
  });

  test("a text is not deleted while a transaction stores a run whose list continues it", async () => {
    await leaveUnusedText();
    const run = wireRun({ inputs: { list: list(54) } });
    await ingesting.exec("BEGIN");
    await ingest(ingesting, run);
    await sweepAll();
    await ingesting.exec("COMMIT");
    await sweepAll();
    expect(await countTexts()).toBe(2);
    expect(await readInputs(run.id)).toEqual({ inputs: { list: list(54) } });
  });

  test("a text is deleted later if the transaction that was about to use it fails", async () => {
    await leaveUnusedText();
    await ingesting.exec("BEGIN");
    await ingest(ingesting, wireRun({ inputs: { list: list(50) } }));
    await sweepAll();
    await ingesting.exec("ROLLBACK");
    expect(await countTexts()).toBe(1);
    await sweepAll();
    expect(await countTexts()).toBe(0);
  });

  test.each([50, 54])(
    "a run with %i items that waits for a text that is deleted stores it again",
    async (count) => {
      await leaveUnusedText();
      const run = wireRun({ inputs: { list: list(count) } });
      await other.exec("BEGIN");
      await sweep(other);
      await ingesting.exec("BEGIN");
      const stored = ingest(ingesting, run);
      await untilBlocked();
      await other.exec("COMMIT");
      await stored;
      await ingesting.exec("COMMIT");
      await sweepAll();
      expect(await countTexts()).toBe(1);
      expect(await readInputs(run.id)).toEqual({ inputs: { list: list(count) } });
    },
  );

  test("a run that waits for a text that is kept after all refers to it", async () => {
    await leaveUnusedText();
    const run = wireRun({ inputs: { list: list(54) } });
    await other.exec("BEGIN");
    await sweep(other);
    await ingesting.exec("BEGIN");
    const stored = ingest(ingesting, run);
    await untilBlocked();
    await other.exec("ROLLBACK");
    await stored;
    await ingesting.exec("COMMIT");
    await sweepAll();
    expect(await countTexts()).toBe(2);
    expect(await readInputs(run.id)).toEqual({ inputs: { list: list(54) } });
  });

  test.each(["COMMIT", "ROLLBACK"])(
    "two transactions store the same new text, and the first one ends with %s",
    async (end) => {
      const [first, second] = [list(50), list(50)].map((items) =>
        wireRun({ inputs: { list: items } }),
      ) as [ReturnType<typeof wireRun>, ReturnType<typeof wireRun>];
      await other.exec("BEGIN");
      await ingest(other, first);
      await ingesting.exec("BEGIN");
      // The project is new, too, and both transactions would wait for it; the text is stored after it.
      const stored = ingest(ingesting, second);
      await untilBlocked();
      await other.exec(end);
      await stored;
      await ingesting.exec("COMMIT");
      await sweepAll();
      expect(await countTexts()).toBe(1);
      expect(await readInputs(second.id)).toEqual({ inputs: { list: list(50) } });
    },
  );

  test("servers that store, read, delete and sweep the same texts at once lose none", async () => {
    const work = async (connection: TestConnection): Promise<void> => {
      const { store } = connection;
      for (let round = 0; round < 25; round += 1) {
        const items = list(50 + (round % 5));
        const run = wireRun({ inputs: { list: items } });
        await store.transact(() => ingest(connection, run));
        const found = await store.read.runs.find(tenantId, run.id);
        expect(JSON.parse(String(found?.bodies[0]))).toEqual({ inputs: { list: items } });
        await store.write.runs.deleteTrees(tenantId, [run.id]);
        await store.transact(async () => sweep(connection));
      }
    };
    await Promise.all([ingesting, other, observing].map(work));
    await sweepAll();
    expect(await countTexts()).toBe(0);
  }, 120_000);

  test("a payload that moves to another partition keeps its texts", async () => {
    const run = wireRun({ inputs: { list: list(50) } });
    await other.store.transact(() => ingest(other, run));
    const weekMicros = 7 * 86_400_000_000;
    await other.store.transact(async () =>
      other.exec(
        `UPDATE payloads SET root_us = root_us + ${20 * weekMicros} WHERE id = '${run.id}';
       UPDATE runs SET root_us = root_us + ${20 * weekMicros} WHERE id = '${run.id}';
       UPDATE run_keys SET root_us = root_us + ${20 * weekMicros} WHERE id = '${run.id}'`,
      ),
    );
    await sweepAll();
    expect(await countTexts()).toBe(1);
    expect(await readInputs(run.id)).toEqual({ inputs: { list: list(50) } });
    await other.store.write.runs.deleteTrees(tenantId, [run.id]);
    await sweepAll();
    expect(await countTexts()).toBe(0);
  });

  test("a run whose text is missing is returned as damaged, and its neighbors as they are", async () => {
    const [damaged, intact] = [list(50), list(2)].map((items) =>
      wireRun({ inputs: { list: items } }),
    );
    for (const run of [damaged, intact]) {
      await other.store.transact(() => ingest(other, run ?? wireRun()));
    }
    await other.exec(`DELETE FROM shared_texts WHERE tenant_id = '${tenantId}'`);
    expect(JSON.stringify(await readInputs(damaged?.id ?? ""))).toContain("millrace_damaged");
    expect(await readInputs(intact?.id ?? "")).toEqual({ inputs: { list: list(2) } });
  });
});

import { beforeEach, describe, expect, test } from "vitest";
import { ConnectionLostError } from "../postgres-errors.ts";
import { retryTransaction } from "../retry-transaction.ts";
import { runTransaction } from "../transaction.ts";
import type { TransactionOptions } from "../transaction.ts";
import { createDatabaseError, ScriptedClient } from "./scripted-client.ts";

const options: TransactionOptions = {
  tenant: "o'brien",
  isReadOnly: false,
  statementMs: 1_500.2,
  lockMs: 300,
  locks: [
    { name: "all/jobs", isShared: true },
    { name: "t/rest", isShared: false },
  ],
};

let client: ScriptedClient;
beforeEach(() => {
  client = new ScriptedClient();
});

describe("a transaction", () => {
  test("begins with its limits, its tenant and its locks in their order, and commits", async () => {
    expect(await runTransaction(client, options, async () => 7)).toBe(7);
    const [begin = "", end] = client.statements;
    expect(begin).toMatch(
      /^BEGIN; SET LOCAL statement_timeout = 1501; SET LOCAL lock_timeout = 300; SET LOCAL idle_in_transaction_session_timeout = 60000; SET LOCAL millrace\.tenant = 'o''brien';/,
    );
    expect(begin.indexOf("_shared(hashtextextended('all/jobs'")).toBeGreaterThan(0);
    expect(begin.indexOf("lock(hashtextextended('t/rest'")).toBeGreaterThan(begin.indexOf("jobs"));
    expect(end).toBe("SELECT 1; COMMIT");
    expect(client.statements).toHaveLength(2);
  });

  test("is rolled back if the call, or its beginning, fails", async () => {
    const failure = new Error("no");
    await expect(
      runTransaction(client, options, async () => {
        throw failure;
      }),
    ).rejects.toBe(failure);
    expect(client.statements.at(-1)).toBe("ROLLBACK");
    client.onStatement = (sql) => {
      if (sql.startsWith("BEGIN")) {
        throw createDatabaseError("55P03");
      }
    };
    await expect(runTransaction(client, options, async () => 1)).rejects.toThrow("55P03");
    expect(client.statements.at(-1)).toBe("ROLLBACK");
  });

  test("in which a statement failed unnoticed is not reported as committed", async () => {
    client.onStatement = (sql) => {
      if (sql.endsWith("COMMIT")) {
        throw createDatabaseError("25P02");
      }
    };
    await expect(runTransaction(client, options, async () => 1)).rejects.toThrow(
      "a statement of the transaction failed",
    );
  });

  test("whose connection is lost during the commit may have been committed", async () => {
    client.onStatement = (sql) => {
      if (sql.endsWith("COMMIT")) {
        throw createDatabaseError("57P01");
      }
    };
    await expect(runTransaction(client, options, async () => 1)).rejects.toMatchObject({
      name: "ConnectionLostError",
      wasCommitting: true,
    });
  });
});

describe("a transaction is repeated", () => {
  const limits = { conflicts: 3, failoverMs: 10_000, firstDelayMs: 1 };
  /** Fails with these errors, one after the other, then succeeds. */
  const failing = (...causes: readonly Error[]) => {
    let calls = 0;
    const run = async (): Promise<number> => {
      const cause = causes[calls];
      calls += 1;
      if (cause !== undefined) {
        throw cause;
      }
      return calls;
    };
    return { run, count: () => calls };
  };

  test.each(["40001", "40P01", "23505"])("after the conflict %s", async (code) => {
    const { run } = failing(createDatabaseError(code), createDatabaseError(code));
    expect(await retryTransaction(run, { isRepeatable: false }, limits)).toBe(3);
  });

  test("a few times only after conflicts", async () => {
    const { run, count } = failing(
      ...Array.from({ length: 9 }, () => createDatabaseError("40001")),
    );
    await expect(retryTransaction(run, { isRepeatable: true }, limits)).rejects.toThrow("40001");
    expect(count()).toBe(4);
  });

  test("after a lost connection, for as long as a failover may take", async () => {
    const lost = createDatabaseError("ECONNREFUSED");
    expect(await retryTransaction(failing(lost).run, { isRepeatable: false }, limits)).toBe(2);
    const { run, count } = failing(lost, lost);
    await expect(
      retryTransaction(run, { isRepeatable: true }, { ...limits, failoverMs: 0 }),
    ).rejects.toBe(lost);
    expect(count()).toBe(1);
  });

  test("after a commit of unknown result, only if repeating it is harmless", async () => {
    const unknown = new ConnectionLostError("lost", { wasCommitting: true });
    expect(await retryTransaction(failing(unknown).run, { isRepeatable: true }, limits)).toBe(2);
    const { run, count } = failing(unknown);
    await expect(retryTransaction(run, { isRepeatable: false }, limits)).rejects.toBe(unknown);
    expect(count()).toBe(1);
  });

  test("after no other error, and not when the server is closing", async () => {
    const { run, count } = failing(createDatabaseError("42P01"));
    await expect(retryTransaction(run, { isRepeatable: true }, limits)).rejects.toThrow("42P01");
    expect(count()).toBe(1);
    const closing = failing(createDatabaseError("40001"));
    const signal = AbortSignal.abort();
    await expect(
      retryTransaction(closing.run, { isRepeatable: true, signal }, limits),
    ).rejects.toThrow("40001");
    expect(closing.count()).toBe(1);
  });
});

import type { PostgresClient } from "./postgres-client.ts";
import { codeOf, ConnectionLostError, isConnectionLost } from "./postgres-errors.ts";
import { tenantSetting } from "./tenant-policies.ts";

/** A lock that a transaction holds until its end. Transactions that share a lock run at the same time. */
export interface TransactionLock {
  readonly name: string;
  readonly isShared: boolean;
}

export interface TransactionOptions {
  /** The tenant whose rows the transaction may read and write, or `*` for all tenants. */
  readonly tenant: string;
  readonly isReadOnly: boolean;
  /** The longest that a statement may take, and that it may wait for a lock, in milliseconds. */
  readonly statementMs: number;
  readonly lockMs: number;
  /**
   * The locks to take, in this order. All transactions must list the same locks in the same order, to prevent
   * deadlocks.
   */
  readonly locks: readonly TransactionLock[];
}

/** Runs a call in a transaction: if it throws, it has changed nothing. */
export async function runTransaction<Result>(
  client: PostgresClient,
  options: TransactionOptions,
  call: () => Promise<Result>,
): Promise<Result> {
  await beginTransaction(client, options);
  let result: Result;
  try {
    result = await call();
  } catch (cause) {
    await rollBack(client);
    throw cause;
  }
  await commit(client);
  return result;
}

/** Begins a transaction and takes its locks, in one round trip. */
export async function beginTransaction(
  client: PostgresClient,
  { tenant, isReadOnly, statementMs, lockMs, locks }: TransactionOptions,
): Promise<void> {
  const lockSql = locks.map(
    ({ name, isShared }) =>
      `SELECT pg_advisory_xact_lock${isShared ? "_shared" : ""}(hashtextextended(${quoteText(name)}, ${lockSeed}));`,
  );
  try {
    await client.exec(
      `BEGIN${isReadOnly ? " READ ONLY" : ""};
       SET LOCAL statement_timeout = ${Math.max(1, Math.ceil(statementMs))};
       SET LOCAL lock_timeout = ${Math.max(1, Math.ceil(lockMs))};
       SET LOCAL idle_in_transaction_session_timeout = ${idleMs};
       SET LOCAL ${tenantSetting} = ${quoteText(tenant)}; ${lockSql.join(" ")}`,
    );
  } catch (cause) {
    await rollBack(client);
    throw cause;
  }
}

/**
 * Milliseconds without a statement after which PostgreSQL ends the connection of a transaction, so that a server that
 * hangs does not hold its locks.
 */
const idleMs = 60_000;

/** Changes the tenant of the running transaction. */
export const setTenant = (client: PostgresClient, tenant: string): Promise<void> =>
  client.exec(`SET LOCAL ${tenantSetting} = ${quoteText(tenant)}`);

/**
 * Commits the transaction.
 *
 * @throws ConnectionLostError the connection was lost, so that it is not known whether the database committed.
 */
export async function commit(client: PostgresClient): Promise<void> {
  try {
    // If a statement of the transaction has failed, COMMIT would roll back without an error, but a statement before
    // COMMIT reports the failure.
    await client.exec("SELECT 1; COMMIT");
  } catch (cause) {
    if (isConnectionLost(cause)) {
      throw new ConnectionLostError("the connection was lost during a commit", {
        cause,
        wasCommitting: true,
      });
    }
    await rollBack(client);
    throw codeOf(cause) === failedTransactionCode
      ? new Error("a statement of the transaction failed, but its error was ignored", { cause })
      : cause;
  }
}

const failedTransactionCode = "25P02";

async function rollBack(client: PostgresClient): Promise<void> {
  try {
    await client.exec("ROLLBACK");
  } catch (cause) {
    // A lost connection has rolled back already; any other failure leaves a transaction open.
    if (!isConnectionLost(cause)) {
      throw cause;
    }
  }
}

/** Separates our advisory locks from those of other programs. */
const lockSeed = 7_239_440;

/**
 * Quotes a text as a string literal of SQL. A backslash is not an escape character, because the server always runs with
 * `standard_conforming_strings`.
 */
export function quoteText(text: string): string {
  if (text.includes("\0")) {
    throw new Error("a text of SQL must not contain NUL");
  }
  return `'${text.replaceAll("'", "''")}'`;
}

import { RequestError } from "../../model/errors.ts";
import type { PostgresConnection } from "../../storage/postgres/postgres-connection.ts";
import { PostgresDatabase } from "../../storage/postgres/postgres-database.ts";
import { toRequestError } from "../../storage/postgres/postgres-errors.ts";
import { retryTransaction } from "../../storage/postgres/retry-transaction.ts";
import type { PooledSession } from "../../storage/postgres/session-pool.ts";
import { allTenants } from "../../storage/postgres/tenant-policies.ts";
import { runTransaction, setTenant } from "../../storage/postgres/transaction.ts";
import { invokeMethod } from "../../storage/thread-reply.ts";
import type { ResourceCall } from "../../storage/thread-reply.ts";
import { digestToken } from "../../storage/share-token.ts";
import type { TokenCipher } from "../../storage/share-token.ts";
import type { QueryThread } from "../read-pool.ts";
import type { ReaderQuery } from "../reader-protocol.ts";
import type { Readers } from "../repositories.ts";
import { planRead } from "./call-plan.ts";
import type { CallTenant } from "./call-plan.ts";
import { createPostgresReaders, createPostgresWriters } from "./postgres-repositories.ts";
import type { PostgresWriters } from "./postgres-repositories.ts";
import { postgresLimits } from "./postgres-limits.ts";
import type { RunEngine } from "./run-engine.ts";

/** What sessions need to connect and to create their repositories. */
export interface SessionFactory {
  readonly connect: () => Promise<PostgresConnection>;
  readonly runs: RunEngine;
  readonly tokenCipher: TokenCipher;
}

/** A connection with the readers of all resources. */
export class ReadSession implements PooledSession {
  readonly connection: PostgresConnection;
  readonly #db: PostgresDatabase;
  readonly #readers: object;

  constructor(connection: PostgresConnection, factory: SessionFactory) {
    this.connection = connection;
    this.#db = new PostgresDatabase(connection);
    this.#readers = createPostgresReaders(this.#db, factory);
  }

  static async open(factory: SessionFactory): Promise<ReadSession> {
    return new ReadSession(await factory.connect(), factory);
  }

  get isUsable(): boolean {
    return this.connection.isUsable;
  }

  /** Performs a query in a transaction of its own. */
  read(call: ResourceCall<Readers>, withinMs: number): Promise<unknown> {
    const tenant = planRead(call);
    const options = {
      tenant: tenant.kind === "tenant" ? tenant.tenantId : allTenants,
      isReadOnly: true,
      statementMs: withinMs,
      lockMs: withinMs,
      locks: [],
    };
    return runTransaction(this.connection, options, async () => {
      await resolveTenant(this.connection, this.#db, tenant);
      return invokeMethod(this.#readers, call as ResourceCall<object>);
    });
  }

  close(): Promise<void> {
    return this.connection.close();
  }
}

/** A connection with the writers of all resources. */
export class WriteSession implements PooledSession {
  readonly connection: PostgresConnection;
  readonly db: PostgresDatabase;
  readonly writers: PostgresWriters;
  /** The cache version of the process at which the caches of this session were last cleared. */
  cacheVersion = 0;

  constructor(connection: PostgresConnection, factory: SessionFactory) {
    this.connection = connection;
    this.db = new PostgresDatabase(connection);
    this.writers = createPostgresWriters(this.db, factory);
  }

  static async open(factory: SessionFactory): Promise<WriteSession> {
    return new WriteSession(await factory.connect(), factory);
  }

  get isUsable(): boolean {
    return this.connection.isUsable;
  }

  /** Clears the caches if another session, or another server, has changed what they contain. */
  refreshCaches(version: number): void {
    if (this.cacheVersion !== version) {
      this.writers.runEngine.clearCaches();
      this.cacheVersion = version;
    }
  }

  close(): Promise<void> {
    return this.connection.close();
  }
}

/**
 * Runs the queries that {@link ReadPool} sends to one of its threads, one at a time. Connects to PostgreSQL with the
 * first query, and again if the connection was lost.
 */
export class ReconnectingReadSession implements QueryThread {
  readonly #factory: SessionFactory;
  #session: ReadSession | undefined;
  /** When the session is replaced, so that the memory of its connection stays bounded. */
  #sessionUntilMs = 0;
  #isCanceled = false;

  constructor(factory: SessionFactory) {
    this.#factory = factory;
  }

  async read({ withinMs, ...call }: ReaderQuery): Promise<unknown> {
    this.#isCanceled = false;
    const untilMs = performance.now() + withinMs;
    try {
      return await retryTransaction(
        async () => {
          this.#assertNotCanceled();
          const session = await this.#open();
          this.#assertNotCanceled();
          return session.read(call, untilMs - performance.now());
        },
        { isRepeatable: true },
        { conflicts: 2, failoverMs: withinMs, firstDelayMs: retryDelayMs },
      );
    } catch (cause) {
      throw toRequestError(cause);
    } finally {
      await this.#closeIfCanceled();
    }
  }

  /** Asks the database to cancel the running query. */
  cancel(): void {
    this.#isCanceled = true;
    this.#session?.connection.cancel();
  }

  async close(): Promise<void> {
    this.cancel();
    await this.#session?.close();
  }

  #assertNotCanceled(): void {
    if (this.#isCanceled) {
      throw new RequestError(503, "the query was canceled", 1);
    }
  }

  async #open(): Promise<ReadSession> {
    if (this.#session?.isUsable !== true || performance.now() > this.#sessionUntilMs) {
      void this.#session?.close();
      this.#session = undefined;
      this.#session = await ReadSession.open(this.#factory);
      this.#sessionUntilMs = performance.now() + postgresLimits.connectionMs;
    }
    return this.#session;
  }

  /**
   * Closes the session after a canceled query: the request to cancel may arrive late, and would then cancel the next
   * query of the connection.
   */
  async #closeIfCanceled(): Promise<void> {
    if (this.#isCanceled) {
      await this.#session?.close();
      this.#session = undefined;
    }
  }
}

const retryDelayMs = 20;

/**
 * Finds the tenant of a call, by a token or a retired dataset if the call does not name the tenant, and limits the
 * running transaction to that tenant. If there is no such tenant, the call sees no rows. Returns the tenant of the
 * transaction.
 */
export async function resolveTenant(
  connection: PostgresConnection,
  db: PostgresDatabase,
  tenant: CallTenant,
): Promise<string> {
  if (tenant.kind === "token") {
    const { rows } = await db.query<{ id: string }>(selectTenantOfToken, [
      digestToken(tenant.token),
    ]);
    return limitTo(connection, rows[0]?.id);
  }
  if (tenant.kind === "retiredDataset") {
    await db.query(retireAbandonedUploads, [(Date.now() - abandonedMs) * 1_000]);
    const { rows } = await db.query<{ id: string }>(
      "SELECT tenant_id AS id FROM datasets WHERE is_ready = 2 LIMIT 1 FOR UPDATE SKIP LOCKED",
    );
    return limitTo(connection, rows[0]?.id);
  }
  return tenant.kind === "tenant" ? tenant.tenantId : allTenants;
}

async function limitTo(connection: PostgresConnection, tenantId = ""): Promise<string> {
  await setTenant(connection, tenantId);
  return tenantId;
}

const selectTenantOfToken = ["shares", "trace_shares", "thread_shares", "feedback_tokens"]
  .map((table) => `SELECT tenant_id AS id FROM ${table} WHERE digest = $1`)
  .concat("SELECT tenant_id FROM datasets WHERE share_digest = $1")
  .join(" UNION ALL ");

/**
 * On SQLite, uploads that were not completed are deleted when the server starts. Here another server may still be
 * receiving them, so they are deleted once no upload can take that long.
 */
const retireAbandonedUploads = `UPDATE datasets SET is_ready = 2, name_json = to_json('deleted ' || id)::text
  WHERE is_ready = 0 AND created_us < $1`;
const abandonedMs = 24 * 3_600_000;

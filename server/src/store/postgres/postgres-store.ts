import { writeChecked } from "../../datasets/examples/schemas/schema-guard.ts";
import { RequestScope } from "../../http/request-scope.ts";
import type { ReadScope, ScopedRequest } from "../../http/request-scope.ts";
import { messageOf, ServerError } from "../../model/errors.ts";
import { memoryDataDir, serverLimits } from "../../model/options.ts";
import type { ActivityListener } from "../../runs/activity.ts";
import type { IngestResult, PackedBatch, RunBatch } from "../../runs/run-record.ts";
import type { PoolState } from "../../storage/pool-state.ts";
import { migrate, migrationLock } from "../../storage/postgres/migrations.ts";
import type { PostgresConnection } from "../../storage/postgres/postgres-connection.ts";
import { toRequestError } from "../../storage/postgres/postgres-errors.ts";
import { retryTransaction } from "../../storage/postgres/retry-transaction.ts";
import { prepareRole } from "../../storage/postgres/server-role.ts";
import { SessionPool } from "../../storage/postgres/session-pool.ts";
import { describeTarget, parseStoreUrl } from "../../model/store-url.ts";
import type { Promised } from "../../storage/promised.ts";
import type { ResourceCall } from "../../storage/thread-reply.ts";
import { WorkThreads } from "../../storage/work-threads.ts";
import { ReadPool } from "../read-pool.ts";
import { isImmediate } from "../reader-protocol.ts";
import { ReaderThread } from "../reader-thread.ts";
import type { ReaderSource } from "../reader-thread.ts";
import type { Readers, Writers } from "../repositories.ts";
import { createResourceProxy } from "../resource-proxy.ts";
import { ScopedStore } from "../scoped-store.ts";
import type { Store } from "../store.ts";
import { originOfClient, originOfRequest, writeFrom } from "../writer-origin.ts";
import type { WriteContext, WriterOrigin } from "../writer-origin.ts";
import { AuthorizationCache } from "./authorization-cache.ts";
import type { AuthorizationQuery } from "./authorization-cache.ts";
import { connect } from "./connect.ts";
import type { ConnectionSettings, PostgresThreadData } from "./connect.ts";
import { findOrCreateDefaultTenant } from "./default-tenant.ts";
import { postgresFormats } from "./formats.ts";
import { assertNoMove } from "./move-progress.ts";
import { postgresLimits, toPoolLimits, toPoolState } from "./postgres-limits.ts";
import { postgresRuns } from "./postgres-runs.ts";
import { ReadSession } from "./postgres-sessions.ts";
import type { SessionFactory } from "./postgres-sessions.ts";
import { PostgresBackgroundThread } from "./postgres-background-thread.ts";
import { PostgresWriterThread } from "./postgres-writer-thread.ts";
import { readTokenKeys } from "./token-key-check.ts";

/** Options of {@link openPostgresStore}. */
export interface PostgresStoreOptions {
  /** Folder with the key of share links. */
  readonly dataDir: string;
  /** Maximum duration of one query, in milliseconds. */
  readonly queryTimeoutMs?: number;
  /** Whether this process may become the leader, which applies rules and sends webhooks. @defaultValue true */
  readonly canLead?: boolean;
}

/**
 * Opens the store in a PostgreSQL database. Creates its tables if the database is empty.
 *
 * @param url - see {@link parseStoreUrl}
 * @throws OptionError the URL is malformed.
 * @throws ServerError the database can't be reached, refuses the login, or has a newer format.
 */
export async function openPostgresStore(
  url: string,
  { dataDir, queryTimeoutMs = serverLimits.queryMs, canLead = true }: PostgresStoreOptions,
): Promise<Store> {
  const target = parseStoreUrl(url);
  if (dataDir === memoryDataDir) {
    throw new ServerError(
      "STORE",
      `with PostgreSQL as the store, dataDir must be a folder, not ${memoryDataDir}: it holds the key of share links, which all servers need`,
    );
  }
  const statementMs = postgresLimits.writeStatementMs;
  const firstConnection = await connectFirst({ target, statementMs, roleSql: "" });
  try {
    const roleSql = await prepareRoleAlone(firstConnection);
    if (roleSql !== "") {
      await firstConnection.exec(roleSql);
    }
    await migrate(firstConnection, postgresFormats);
    await assertNoMove(firstConnection);
    const defaultTenantId = await findOrCreateDefaultTenant(firstConnection);
    const tokenKeys = await readTokenKeys(firstConnection, dataDir);
    const reading = { target, statementMs: queryTimeoutMs, roleSql };
    const store = new PostgresStore({
      reader: { connection: reading, dataDir },
      reads: { runs: postgresRuns, tokenCipher: tokenKeys, connect: () => connect(reading) },
      queryTimeoutMs,
      defaultTenantId,
      linkSecret: tokenKeys.deriveSecret("links"),
    });
    await store.start({ connection: { target, statementMs, roleSql }, dataDir, canLead });
    return store;
  } finally {
    await firstConnection.close();
  }
}

/** Connects to the database. Waits if it is starting or failing over. */
async function connectFirst(settings: ConnectionSettings): Promise<PostgresConnection> {
  try {
    return await retryTransaction(
      () => connect(settings),
      { isRepeatable: true },
      { conflicts: 0, failoverMs: postgresLimits.startMs, firstDelayMs: 100 },
    );
  } catch (cause) {
    if (cause instanceof ServerError) {
      throw cause;
    }
    throw new ServerError(
      "STORE",
      `Failed to open the store at ${describeTarget(settings.target)}: ${messageOf(cause)}. Check that PostgreSQL is running there, and that one of the hosts accepts writes`,
      { cause },
    );
  }
}

/**
 * Prepares the role under a lock, because it could fail if several servers created the role at the same time.
 */
async function prepareRoleAlone(connection: PostgresConnection): Promise<string> {
  await connection.exec(`SELECT pg_advisory_lock(${migrationLock})`);
  try {
    return await prepareRole(connection);
  } finally {
    await connection.exec(`SELECT pg_advisory_unlock(${migrationLock})`);
  }
}

interface StoreParts {
  /** The `workerData` of the threads that run queries. */
  readonly reader: PostgresThreadData;
  /** Connects the sessions for the queries that authorize requests. These queries run in this thread. */
  readonly reads: SessionFactory;
  readonly queryTimeoutMs: number;
  readonly defaultTenantId: string;
  readonly linkSecret: Uint8Array;
}

/**
 * The store in a PostgreSQL database, which several servers may use at the same time. Queries run on reader threads and
 * writes on a writer thread, as with SQLite; only the small queries that authorize requests run in this thread.
 */
class PostgresStore implements Store {
  readonly read: Promised<Readers>;
  readonly write: Promised<Writers>;
  readonly defaultTenantId: string;
  readonly linkSecret: Uint8Array;
  /** PostgreSQL itself refuses writes when its disk is full. */
  readonly readOnlyReason = undefined;
  readonly #reads: ReadPool;
  readonly #immediate: SessionPool<ReadSession>;
  readonly #authorization = new AuthorizationCache((query) => this.#readImmediately(query));
  readonly #activityListeners: ActivityListener[] = [];
  readonly #wakeListeners: (() => void)[] = [];
  /** Threads for schema checks; they start on first use. */
  readonly #work = new WorkThreads();
  readonly #closing = new AbortController();
  #writer: PostgresWriterThread | undefined;
  #background: PostgresBackgroundThread | undefined;
  #closed: Promise<void> | undefined;

  constructor({ reader, reads, queryTimeoutMs, defaultTenantId, linkSecret }: StoreParts) {
    this.defaultTenantId = defaultTenantId;
    this.linkSecret = linkSecret;
    this.#reads = new ReadPool(() => new ReaderThread(createReaderSource(reader)), queryTimeoutMs);
    this.#immediate = new SessionPool(
      () => ReadSession.open(reads),
      toPoolLimits(postgresLimits.immediateConnections),
    );
    this.read = this.#createReaders();
    this.write = this.#createWriters({});
  }

  /** Starts the writer thread. The thread for background work starts once this server is the leader. */
  async start(data: PostgresThreadData): Promise<void> {
    const background = new PostgresBackgroundThread(data);
    this.#background = background;
    this.#writer = await PostgresWriterThread.start(data, {
      onActivity: (activity, source) => {
        for (const listener of this.#activityListeners) {
          listener(activity, source);
        }
      },
      onWake: () => {
        for (const listener of this.#wakeListeners) {
          listener();
        }
      },
      onState: (isLeader) => background.setLeader(isLeader),
    });
  }

  get pools(): Readonly<Record<string, PoolState>> {
    const { immediateConnections } = postgresLimits;
    return {
      authorization: toPoolState(this.#immediate.counts, immediateConnections),
      ...this.#writer?.pools,
    };
  }

  forRequest(request: ScopedRequest): Store {
    return new ScopedStore(this, {
      read: this.#createReaders(new RequestScope(request)),
      write: this.#createWriters(originOfRequest(request)),
    });
  }

  forClient(client: string): Store {
    return new ScopedStore(this, {
      read: this.read,
      write: this.#createWriters(originOfClient(client)),
    });
  }

  ingest(tenantId: string, batch: RunBatch | PackedBatch): Promise<IngestResult> {
    return this.#started.ingest(tenantId, batch);
  }

  onActivity(listener: ActivityListener): void {
    this.#activityListeners.push(listener);
  }

  onWake(listener: () => void): void {
    this.#wakeListeners.push(listener);
  }

  /** Queries the database itself, not the cache of its answers. */
  async assertAnswers(): Promise<void> {
    await this.#readImmediately({ method: "hasKeys", args: [] });
  }

  endReads(): void {
    this.#reads.cancelAll();
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  get #started(): PostgresWriterThread {
    if (this.#writer === undefined) {
      throw new Error("the writer thread was not started");
    }
    return this.#writer;
  }

  #createReaders(scope?: ReadScope): Promised<Readers> {
    return createResourceProxy<Readers>(async (call) => {
      const idle = this.#started.isLeader ? undefined : findIdleResult(call);
      if (idle !== undefined) {
        return idle.value;
      }
      return isImmediate(call) ? this.#authorization.read(call) : this.#reads.read(call, scope);
    });
  }

  async #readImmediately(query: AuthorizationQuery): Promise<unknown> {
    try {
      return await retryTransaction(
        () =>
          this.#immediate.use((session) =>
            session.read({ resource: "tenants", ...query }, serverLimits.queryMs),
          ),
        { isRepeatable: true, signal: this.#closing.signal },
      );
    } catch (cause) {
      throw toRequestError(cause);
    }
  }

  #createWriters(origin: WriterOrigin): Promised<Writers> {
    return createResourceProxy<Writers>((call) =>
      writeFrom(origin, call.resource, (context) => this.#write(call, context)),
    );
  }

  async #write(call: ResourceCall<Writers>, context: WriteContext): Promise<unknown> {
    if (call.resource === "jobs" && call.method === "releaseAll") {
      // The jobs of a server that has ended are released when their leases run out. All other leases belong to servers
      // that are running.
      return undefined;
    }
    return writeChecked(this.#work, String(call.args[0]), (checkResults) =>
      this.#started.write({ ...call, checkResults, ...context }),
    );
  }

  async #close(): Promise<void> {
    this.#closing.abort();
    await Promise.all([this.#reads.close(), this.#work.close(), this.#immediate.close()]);
    await this.#background?.close();
    await this.#writer?.close();
  }
}

const createReaderSource = (threadData: PostgresThreadData): ReaderSource => ({
  file: "postgres-reader.worker.js",
  createData: () => threadData,
  getsCancelMessage: true,
});

/**
 * Returns the result of a query for work that only the leader does: any other server has nothing to do. Returns
 * `undefined` for all other queries.
 */
function findIdleResult({
  resource,
  method,
}: ResourceCall<Readers>): { readonly value: unknown } | undefined {
  if ((resource === "rules" || resource === "alerts") && method === "listActive") {
    return { value: [] };
  }
  return (resource === "rules" || resource === "webhooks") && method === "listDue"
    ? { value: { due: [], nextMicros: null } }
    : undefined;
}

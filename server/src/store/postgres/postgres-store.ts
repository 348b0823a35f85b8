import { MissingChecksError } from "../../datasets/examples/schemas/schema-checks.ts";
import type {
  MissingChecks,
  SchemaCheckResult,
} from "../../datasets/examples/schemas/schema-checks.ts";
import { writeChecked } from "../../datasets/examples/schemas/schema-guard.ts";
import { RequestScope } from "../../http/request-scope.ts";
import type { ReadScope, ScopedRequest } from "../../http/request-scope.ts";
import { messageOf, RequestError, ServerError } from "../../model/errors.ts";
import { memoryDataDir, serverLimits } from "../../model/options.ts";
import { loadLibraryPrices } from "../../prices/library-prices.ts";
import type { Activity } from "../../runs/activity.ts";
import { batchMemory } from "../../runs/batch-memory.ts";
import type { IngestResult, PackedBatch, RunBatch } from "../../runs/run-record.ts";
import { LongWrite } from "../../storage/long-write.ts";
import { migrate, migrationLock } from "../../storage/postgres/migrations.ts";
import type { PostgresConnection } from "../../storage/postgres/postgres-connection.ts";
import { toRequestError } from "../../storage/postgres/postgres-errors.ts";
import { retryTransaction } from "../../storage/postgres/retry-transaction.ts";
import { prepareRole } from "../../storage/postgres/server-role.ts";
import { SessionPool } from "../../storage/postgres/session-pool.ts";
import type { PoolCounts, PoolLimits } from "../../storage/postgres/session-pool.ts";
import { describeTarget, parseStoreUrl } from "../../storage/postgres/store-url.ts";
import { allTenants } from "../../storage/postgres/tenant-policies.ts";
import { beginTransaction, commit, runTransaction } from "../../storage/postgres/transaction.ts";
import type { TransactionOptions } from "../../storage/postgres/transaction.ts";
import type { PoolState } from "../../storage/pool-state.ts";
import type { Promised } from "../../storage/promised.ts";
import { invokeMethod } from "../../storage/thread-reply.ts";
import type { ResourceCall } from "../../storage/thread-reply.ts";
import { WorkThreads } from "../../storage/work-threads.ts";
import { ReadPool } from "../read-pool.ts";
import { ReaderThread } from "../reader-thread.ts";
import type { ReaderSource } from "../reader-thread.ts";
import { isImmediate } from "../reader-protocol.ts";
import type { Readers, Writers } from "../repositories.ts";
import { RequestStore } from "../request-store.ts";
import { createResourceProxy } from "../resource-proxy.ts";
import type { Store } from "../store.ts";
import { planWrite } from "./call-plan.ts";
import type { MethodTable } from "./call-plan.ts";
import { connect } from "./connect.ts";
import type { ConnectionSettings, PostgresReaderData } from "./connect.ts";
import { findOrCreateDefaultTenant } from "./default-tenant.ts";
import { postgresFormats } from "./formats.ts";
import { KeyedQueues } from "./keyed-queues.ts";
import { postgresRuns } from "./postgres-runs.ts";
import { ReadSession, resolveTenant, WriteSession } from "./postgres-sessions.ts";
import type { SessionFactory } from "./postgres-sessions.ts";
import { ServerNotices } from "./server-notices.ts";
import { readTokenKeys } from "./token-key-check.ts";

/** Limits of the connections of one server. */
export const postgresLimits = {
  /** Connections for writes of resources, for batches of runs, and for queries that authorize requests. */
  writeConnections: 4,
  ingestConnections: 4,
  immediateConnections: 2,
  /** Calls that may wait for a connection of each kind, and the longest wait in milliseconds. */
  waitingCalls: 1_000,
  waitMs: 20_000,
  /** Milliseconds after which a connection is replaced. */
  connectionMs: 3_600_000,
  /** The longest that a statement of a write may take, and that it waits for other writes, in milliseconds. */
  writeStatementMs: 60_000,
  lockMs: 20_000,
  /** Writes of one tenant that may wait for each other in this server. */
  waitingWritesOfTenant: 500,
  /** Milliseconds for which the start waits for the database. */
  startMs: 15_000,
  /** Milliseconds between two steps of the work in the background. */
  maintainMs: 1_000,
} as const;

export interface PostgresStoreOptions {
  /** Folder with the key of share links. */
  readonly dataDir: string;
  /** Maximum duration of one query, in milliseconds. */
  readonly queryTimeoutMs?: number;
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
  { dataDir, queryTimeoutMs = serverLimits.queryMs }: PostgresStoreOptions,
): Promise<Store> {
  const target = parseStoreUrl(url);
  if (dataDir === memoryDataDir) {
    throw new ServerError(
      "STORE",
      "with PostgreSQL as the store, the data folder must be a folder: it holds the key of share links, which all servers need",
    );
  }
  const statementMs = postgresLimits.writeStatementMs;
  const first = await connectFirst({ target, statementMs, roleSql: "" });
  try {
    const roleSql = await prepareRoleAlone(first);
    if (roleSql !== "") {
      await first.exec(roleSql);
    }
    await migrate(first, postgresFormats);
    const defaultTenantId = await findOrCreateDefaultTenant(first);
    const tokenKeys = await readTokenKeys(first, dataDir);
    const reading = { target, statementMs: queryTimeoutMs, roleSql };
    const writing = { target, statementMs, roleSql };
    const factory = { runs: postgresRuns, tokenCipher: tokenKeys };
    const store = new PostgresStore({
      reader: { connection: reading, dataDir },
      reads: { ...factory, connect: () => connect(reading) },
      writes: { ...factory, connect: () => connect(writing) },
      queryTimeoutMs,
      defaultTenantId,
      linkSecret: tokenKeys.deriveSecret("links"),
    });
    await store.start();
    return store;
  } finally {
    await first.close();
  }
}

/** Waits for a database that is starting, or is failing over. */
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

/** Servers that start at the same time would disturb each other when they create the role. */
async function prepareRoleAlone(connection: PostgresConnection): Promise<string> {
  await connection.exec(`SELECT pg_advisory_lock(${migrationLock})`);
  try {
    return await prepareRole(connection);
  } finally {
    await connection.exec(`SELECT pg_advisory_unlock(${migrationLock})`);
  }
}

interface StoreParts {
  /** For the threads that run queries. */
  readonly reader: PostgresReaderData;
  readonly reads: SessionFactory;
  readonly writes: SessionFactory;
  readonly queryTimeoutMs: number;
  readonly defaultTenantId: string;
  readonly linkSecret: Uint8Array;
}

/**
 * The store in a PostgreSQL database, which several servers may use at the same time. Queries, writes, batches of runs
 * and the queries that authorize requests have connections of their own, so that none of them can occupy those of
 * another.
 */
class PostgresStore implements Store {
  readonly read: Promised<Readers>;
  readonly write: Promised<Writers>;
  readonly defaultTenantId: string;
  readonly linkSecret: Uint8Array;
  /** PostgreSQL itself refuses writes when its disk is full. */
  readonly readOnlyReason = undefined;
  readonly #reads: ReadPool;
  readonly #pools: {
    readonly immediate: SessionPool<ReadSession>;
    readonly writes: SessionPool<WriteSession>;
    readonly ingest: SessionPool<WriteSession>;
  };
  readonly #queues = new KeyedQueues(postgresLimits.waitingWritesOfTenant);
  readonly #notices: ServerNotices;
  readonly #activityListeners: ((activity: readonly Activity[]) => void)[] = [];
  readonly #wakeListeners: (() => void)[] = [];
  /** Threads for schema checks; they start on first use. */
  readonly #work = new WorkThreads();
  readonly #closing = new AbortController();
  #cacheVersion = 0;
  #pendingBytes = 0;
  #maintainTimer: NodeJS.Timeout | undefined;
  #maintaining: Promise<void> | undefined;
  #closed: Promise<void> | undefined;

  constructor({ reader, reads, writes, queryTimeoutMs, defaultTenantId, linkSecret }: StoreParts) {
    this.defaultTenantId = defaultTenantId;
    this.linkSecret = linkSecret;
    this.#reads = new ReadPool(() => new ReaderThread(createReaderSource(reader)), queryTimeoutMs);
    const { immediateConnections, writeConnections, ingestConnections } = postgresLimits;
    this.#pools = {
      immediate: new SessionPool(() => ReadSession.open(reads), toLimits(immediateConnections)),
      writes: new SessionPool(() => WriteSession.open(writes), toLimits(writeConnections)),
      ingest: new SessionPool(() => WriteSession.open(writes), toLimits(ingestConnections)),
    };
    this.#notices = new ServerNotices(writes.connect, {
      onNotice: ({ activity = [], hasChanged }) => {
        if (activity.length > 0) {
          this.#reportActivity(activity);
        }
        if (hasChanged === true) {
          this.#cacheVersion += 1;
          this.#wake();
        }
      },
      onLeader: () => this.#wake(),
    });
    this.read = this.#createReaders();
    this.write = createResourceProxy<Writers>((call) => this.#write(call));
  }

  /** Connects to the other servers, and begins the work in the background. */
  async start(): Promise<void> {
    await this.#notices.start();
    this.#scheduleMaintenance(postgresLimits.maintainMs);
  }

  /** The connections of each kind, for metrics. */
  get pools(): Readonly<Record<string, PoolState>> {
    const { immediate, writes, ingest } = this.#pools;
    const { immediateConnections, writeConnections, ingestConnections } = postgresLimits;
    return {
      authorization: toState(immediate.counts, immediateConnections),
      writes: toState(writes.counts, writeConnections),
      ingest: toState(ingest.counts, ingestConnections),
    };
  }

  forRequest(request: ScopedRequest): Store {
    return new RequestStore(this, this.#createReaders(new RequestScope(request)));
  }

  async ingest(tenantId: string, batch: RunBatch | PackedBatch): Promise<IngestResult> {
    const bytes = batch.bodies.byteLength;
    if (this.#pendingBytes + bytes > serverLimits.pendingBytes) {
      throw new RequestError(
        429,
        "data arrives faster than the database can write it; retry later",
        1,
      );
    }
    this.#pendingBytes += bytes;
    try {
      await loadLibraryPrices();
      const { result, activity } = await this.#transact(
        this.#pools.ingest,
        { tenant: tenantId, locks: [], isRepeatable: true },
        (session) => session.writers.runEngine.ingest(tenantId, batch),
      );
      if (activity.length > 0) {
        this.#reportActivity(activity);
        this.#notices.sendActivity(activity);
      }
      return result;
    } finally {
      this.#pendingBytes -= bytes;
      batchMemory.release(batch.bodies.buffer);
    }
  }

  onActivity(listener: (activity: readonly Activity[]) => void): void {
    this.#activityListeners.push(listener);
  }

  onWake(listener: () => void): void {
    this.#wakeListeners.push(listener);
  }

  endReads(): void {
    this.#reads.cancelAll();
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  #createReaders(scope?: ReadScope): Promised<Readers> {
    return createResourceProxy<Readers>(async (call) => {
      const idle = this.#notices.isLeader ? undefined : findIdleResult(call);
      if (idle !== undefined) {
        return idle.value;
      }
      return isImmediate(call) ? this.#readImmediately(call) : this.#reads.read(call, scope);
    });
  }

  async #readImmediately(call: ResourceCall<Readers>): Promise<unknown> {
    try {
      return await retryTransaction(
        () => this.#pools.immediate.use((session) => session.read(call, serverLimits.queryMs)),
        { isRepeatable: true, signal: this.#closing.signal },
      );
    } catch (cause) {
      throw toRequestError(cause);
    }
  }

  async #write(call: ResourceCall<Writers>): Promise<unknown> {
    if (call.resource === "jobs" && call.method === "releaseAll") {
      // The jobs of a server that has ended are released when their leases run out. All other leases belong to servers
      // that are running.
      return undefined;
    }
    const result = await writeChecked(this.#work, String(call.args[0]), (checkResults) =>
      this.#writeOnce(call, checkResults),
    );
    if (mustBeNoticed(call)) {
      this.#cacheVersion += 1;
      this.#notices.sendChange();
    }
    return result;
  }

  #writeOnce(
    call: ResourceCall<Writers>,
    checkResults: readonly SchemaCheckResult[],
  ): Promise<unknown> {
    const { tenant, locks } = planWrite(call);
    const plan = {
      tenant: tenant.kind === "tenant" ? tenant.tenantId : allTenants,
      locks,
      isRepeatable: false,
    };
    const queueName = locks.at(-1)?.name;
    const run = (): Promise<unknown> =>
      this.#transact(this.#pools.writes, plan, async (session, options) => {
        await resolveTenant(session.connection, session.db, tenant);
        return performWrite(session, { call, checkResults, options });
      });
    // Writes that would wait for the same lock wait here instead, so that they do not occupy the connections.
    return queueName === undefined ? run() : this.#queues.run(queueName, run);
  }

  async #transact<Result>(
    pool: SessionPool<WriteSession>,
    {
      tenant,
      locks,
      isRepeatable,
    }: Pick<TransactionOptions, "tenant" | "locks"> & { readonly isRepeatable: boolean },
    call: (session: WriteSession, options: TransactionOptions) => Promise<Result>,
  ): Promise<Result> {
    const { writeStatementMs: statementMs, lockMs } = postgresLimits;
    const options = { tenant, locks, isReadOnly: false, statementMs, lockMs };
    try {
      return await retryTransaction(
        () =>
          pool.use(async (session) => {
            session.refreshCaches(this.#cacheVersion);
            try {
              return await runTransaction(session.connection, options, () =>
                call(session, options),
              );
            } catch (cause) {
              session.writers.runEngine.clearCaches();
              throw cause;
            }
          }),
        { isRepeatable, signal: this.#closing.signal },
      );
    } catch (cause) {
      if (cause instanceof MissingChecksError) {
        return { missingChecks: cause.missingChecks } satisfies MissingChecks as Result;
      }
      throw toRequestError(cause);
    }
  }

  #reportActivity(activity: readonly Activity[]): void {
    for (const listener of this.#activityListeners) {
      listener(activity);
    }
  }

  #wake(): void {
    for (const listener of this.#wakeListeners) {
      listener();
    }
  }

  #scheduleMaintenance(delayMs: number): void {
    if (this.#closing.signal.aborted) {
      return;
    }
    this.#maintainTimer = setTimeout(() => {
      this.#maintaining = this.#maintain();
    }, delayMs);
    this.#maintainTimer.unref();
  }

  async #maintain(): Promise<void> {
    let delayMs: number = postgresLimits.maintainMs;
    if (this.#notices.isLeader) {
      try {
        const plan = { tenant: allTenants, locks: [], isRepeatable: true };
        const hasMore = await this.#transact(this.#pools.writes, plan, (session) =>
          session.writers.runEngine.maintain(),
        );
        delayMs = hasMore ? 0 : delayMs;
      } catch (cause) {
        delayMs *= failureFactor;
        if (!this.#closing.signal.aborted) {
          process.emitWarning(`the work in the background failed: ${messageOf(cause)}`);
        }
      }
    }
    this.#scheduleMaintenance(delayMs);
  }

  async #close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#maintainTimer);
    const { immediate, writes, ingest } = this.#pools;
    await this.#maintaining;
    await Promise.all([
      this.#reads.close(),
      this.#work.close(),
      writes.close(),
      ingest.close(),
      immediate.close(),
    ]);
    await this.#notices.close();
  }
}

const createReaderSource = (data: PostgresReaderData): ReaderSource => ({
  file: "postgres-reader.worker.js",
  createData: () => data,
  getsCancelMessage: true,
});

/** How much longer the work in the background pauses after a failure. */
const failureFactor = 30;

const toLimits = (size: number): PoolLimits => ({
  size,
  maxWaiting: postgresLimits.waitingCalls,
  waitMs: postgresLimits.waitMs,
  sessionMs: postgresLimits.connectionMs,
});

const toState = (counts: PoolCounts, size: number): PoolState => ({ ...counts, size });

interface PlannedWrite {
  readonly call: ResourceCall<Writers>;
  readonly checkResults: readonly SchemaCheckResult[];
  readonly options: TransactionOptions;
}

/** Performs a write in the running transaction. A long write commits it and begins others. */
async function performWrite(
  { connection, writers }: WriteSession,
  { call, checkResults, options }: PlannedWrite,
): Promise<unknown> {
  writers.schemas.begin(checkResults);
  const value = await invokeMethod(writers.resources, call as ResourceCall<object>);
  const result =
    value instanceof LongWrite
      ? await performSlices(connection, value as LongWrite<unknown>, options)
      : value;
  writers.schemas.assertNoneMissing();
  return result;
}

async function performSlices(
  connection: PostgresConnection,
  { asyncSteps }: LongWrite<unknown>,
  options: TransactionOptions,
): Promise<unknown> {
  if (asyncSteps === undefined) {
    throw new Error("this long write has synchronous slices, which PostgreSQL can't perform");
  }
  let endMs = performance.now() + serverLimits.writeSliceMs;
  for (;;) {
    const step = await asyncSteps.next();
    if (step.done === true) {
      return step.value;
    }
    if (performance.now() > endMs) {
      await commit(connection);
      await beginTransaction(connection, options);
      endMs = performance.now() + serverLimits.writeSliceMs;
    }
  }
}

/** Whether a write changes what sessions cache, or what the leader does by itself. */
const mustBeNoticed = ({ resource, method }: ResourceCall<Writers>): boolean =>
  (noticedWrites[resource] as readonly PropertyKey[] | undefined)?.includes(method) ?? false;

const noticedWrites: MethodTable<Writers> = {
  alerts: ["create", "update", "delete"],
  prices: ["set", "remove"],
  projects: ["create", "update", "delete", "deleteMany"],
  rules: ["create", "update", "delete", "retry", "beginPast"],
  webhooks: ["create", "update", "delete", "enqueue", "resend"],
};

/**
 * The result of a query for the work that only the leader does: for all other servers there is nothing to do. Returns
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

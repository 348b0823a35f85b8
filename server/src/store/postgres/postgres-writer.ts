import { MissingChecksError } from "../../datasets/examples/schemas/schema-checks.ts";
import type {
  MissingChecks,
  SchemaCheckResult,
} from "../../datasets/examples/schemas/schema-checks.ts";
import { addCreatedId } from "../../audit/audit-target.ts";
import type { AuditEntry } from "../../model/audit-entry.ts";
import { messageOf } from "../../model/errors.ts";
import { serverLimits } from "../../model/options.ts";
import { loadLibraryPrices } from "../../prices/library-prices.ts";
import type { ActivityListener } from "../../runs/activity.ts";
import type { IngestResult, PackedBatch, RunBatch } from "../../runs/run-record.ts";
import { LongWrite } from "../../storage/long-write.ts";
import type { PoolState } from "../../storage/pool-state.ts";
import type { PostgresConnection } from "../../storage/postgres/postgres-connection.ts";
import { toRequestError } from "../../storage/postgres/postgres-errors.ts";
import { retryTransaction } from "../../storage/postgres/retry-transaction.ts";
import { SessionPool } from "../../storage/postgres/session-pool.ts";
import { allTenants } from "../../storage/postgres/tenant-policies.ts";
import {
  beginTransaction,
  commit,
  runTransaction,
  setTenant,
} from "../../storage/postgres/transaction.ts";
import type { TransactionOptions } from "../../storage/postgres/transaction.ts";
import { invokeMethod } from "../../storage/thread-reply.ts";
import type { ResourceCall } from "../../storage/thread-reply.ts";
import type { Writers } from "../repositories.ts";
import type { WriteContext } from "../writer-origin.ts";
import { planWrite } from "./call-plan.ts";
import type { MethodTable } from "./call-plan.ts";
import { KeyedQueues } from "./keyed-queues.ts";
import { postgresLimits, toPoolLimits, toPoolState } from "./postgres-limits.ts";
import { resolveTenant, WriteSession } from "./postgres-sessions.ts";
import type { SessionFactory } from "./postgres-sessions.ts";
import { ServerNotices } from "./server-notices.ts";
import type { NoticeOptions } from "./server-notices.ts";

/** A write, and who makes it. */
export type PostgresWrite = ResourceCall<Writers> &
  WriteContext & {
    /** Results of the schema checks that were already done for the write; see `SchemaChecks`. */
    readonly checkResults: readonly SchemaCheckResult[];
  };

/** What the writer reports besides the results of calls. */
export interface WriterListeners {
  /** Called with the counts of the runs that this process, or another one, has stored. */
  readonly onActivity: ActivityListener;
  /** Called when another server has changed rules, alerts or webhooks, or when this server becomes the leader. */
  readonly onWake: () => void;
}

/**
 * Performs the writes of a server. Writes of resources and batches of runs have separate connections, so that neither
 * can occupy all connections.
 */
export class PostgresWriter {
  readonly #pools: {
    readonly writes: SessionPool<WriteSession>;
    readonly ingest: SessionPool<WriteSession>;
  };
  readonly #queues = new KeyedQueues(postgresLimits.waitingWritesOfTenant);
  readonly #notices: ServerNotices;
  readonly #listeners: WriterListeners;
  readonly #closing = new AbortController();
  #cacheVersion = 0;
  #maintainTimer: NodeJS.Timeout | undefined;
  #maintaining: Promise<void> | undefined;
  /** When the leader searches for deleted datasets again. */
  #nextErasureMs = 0;

  constructor(
    sessions: SessionFactory,
    listeners: WriterListeners,
    noticeOptions: NoticeOptions = {},
  ) {
    this.#listeners = listeners;
    const { writeConnections, ingestConnections } = postgresLimits;
    const open = (): Promise<WriteSession> => WriteSession.open(sessions);
    this.#pools = {
      writes: new SessionPool(open, toPoolLimits(writeConnections)),
      ingest: new SessionPool(open, toPoolLimits(ingestConnections)),
    };
    this.#notices = new ServerNotices(
      sessions.connect,
      {
        onNotice: ({ activity = [], hasChanged }) => {
          if (activity.length > 0) {
            listeners.onActivity(activity, "other");
          }
          if (hasChanged === true) {
            this.#cacheVersion += 1;
            listeners.onWake();
          }
        },
        onLeader: () => listeners.onWake(),
      },
      noticeOptions,
    );
  }

  /** Connects to the other servers and starts the background work. */
  async start(): Promise<void> {
    await this.#notices.start();
    this.#scheduleMaintenance(postgresLimits.maintainMs);
  }

  get isLeader(): boolean {
    return this.#notices.isLeader;
  }

  /** The connections of each kind. */
  get pools(): Readonly<Record<string, PoolState>> {
    const { writes, ingest } = this.#pools;
    return {
      writes: toPoolState(writes.counts, postgresLimits.writeConnections),
      ingest: toPoolState(ingest.counts, postgresLimits.ingestConnections),
    };
  }

  async ingest(tenantId: string, batch: RunBatch | PackedBatch): Promise<IngestResult> {
    await loadLibraryPrices();
    const { result, activity } = await this.#transact(
      this.#pools.ingest,
      { tenant: tenantId, locks: [], isRepeatable: true },
      (session) => session.writers.runEngine.ingest(tenantId, batch),
    );
    if (activity.length > 0) {
      this.#listeners.onActivity(activity, "own");
      this.#notices.sendActivity(activity);
    }
    return result;
  }

  /** Performs a write. Its result is {@link MissingChecks} if schema checks must be done first. */
  async write(write: PostgresWrite): Promise<unknown> {
    const result = await this.#writeOnce(write);
    if (mustNotifyServers(write)) {
      this.#cacheVersion += 1;
      this.#notices.sendChange();
    }
    return result;
  }

  /** Completes running writes and refuses new ones. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#maintainTimer);
    await this.#maintaining;
    await Promise.all([this.#pools.writes.close(), this.#pools.ingest.close()]);
    await this.#notices.close();
  }

  /** Performs a write. If it `isRepeatable`, it is repeated after the loss of a connection. */
  #writeOnce(write: PostgresWrite, { isRepeatable = false } = {}): Promise<unknown> {
    const { tenant, locks } = planWrite(write);
    const plan = {
      tenant: tenant.kind === "tenant" ? tenant.tenantId : allTenants,
      locks,
      isRepeatable,
    };
    const queueName = locks.at(-1)?.name;
    const run = (): Promise<unknown> =>
      this.#transact(this.#pools.writes, plan, async (session, options) => {
        const tenantId = await resolveTenant(session.connection, session.db, tenant);
        return performWrite(session, write, { ...options, tenant: tenantId });
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
      const startMs = performance.now();
      try {
        const plan = { tenant: allTenants, locks: [], isRepeatable: true };
        const hasMorePartitions = await this.#transact(this.#pools.writes, plan, (session) =>
          session.writers.runEngine.maintain(),
        );
        const hasMoreDatasets = await this.#eraseDatasets();
        delayMs = hasMorePartitions || hasMoreDatasets ? performance.now() - startMs : delayMs;
      } catch (cause) {
        delayMs *= failureFactor;
        if (!this.#closing.signal.aborted) {
          process.emitWarning(`background work failed: ${messageOf(cause)}`);
        }
      }
    }
    this.#scheduleMaintenance(delayMs);
  }

  /**
   * Erases some rows of deleted datasets and of abandoned uploads, which servers that ended have left behind. Returns
   * whether more rows are left.
   */
  async #eraseDatasets(): Promise<boolean> {
    if (performance.now() < this.#nextErasureMs) {
      return false;
    }
    const sweep = { resource: "datasets", method: "sweep", args: [], checkResults: [] } as const;
    const hasMore = (await this.#writeOnce(sweep, { isRepeatable: true })) === true;
    if (!hasMore) {
      this.#nextErasureMs = performance.now() + postgresLimits.erasureMs;
    }
    return hasMore;
  }
}

/** After a failed step of background work, the pause is longer by this factor. */
const failureFactor = 30;

/** Performs a write in the running transaction. A long write commits it and begins others. */
async function performWrite(
  session: WriteSession,
  { checkResults, author, audit, ...call }: PostgresWrite,
  options: TransactionOptions,
): Promise<unknown> {
  const { connection, writers } = session;
  writers.schemas.begin(checkResults);
  writers.author.author = author ?? null;
  const value = await invokeMethod(writers.resources, call as ResourceCall<object>);
  // As on SQLite, the entry is stored with the first slice of a long write.
  if (audit !== undefined) {
    await recordEntry(session, addCreatedId(audit, value), options);
  }
  const result =
    value instanceof LongWrite
      ? await performSlices(connection, value as LongWrite<unknown>, options)
      : value;
  writers.schemas.assertNoneMissing();
  return result;
}

/**
 * Adds an entry to the audit log in the running transaction. The entry belongs to the tenant of the request. The
 * transaction has another tenant if the request changes another tenant.
 */
async function recordEntry(
  { connection, writers }: WriteSession,
  entry: AuditEntry,
  { tenant }: TransactionOptions,
): Promise<void> {
  const isForeign = tenant !== allTenants && tenant !== entry.tenantId;
  if (isForeign) {
    await setTenant(connection, entry.tenantId);
  }
  await writers.audit.record(entry.tenantId, entry);
  if (isForeign) {
    await setTenant(connection, tenant);
  }
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

/**
 * Whether other servers must be notified of a write, because it changes what sessions cache, or the rules, alerts and
 * webhooks that the leader applies.
 */
const mustNotifyServers = ({ resource, method }: ResourceCall<Writers>): boolean =>
  (noticedWrites[resource] as readonly PropertyKey[] | undefined)?.includes(method) ?? false;

const noticedWrites: MethodTable<Writers> = {
  alerts: ["create", "update", "delete"],
  prices: ["set", "remove"],
  projects: ["create", "update", "delete", "deleteMany"],
  rules: ["create", "update", "delete", "retry", "beginPast"],
  webhooks: ["create", "update", "delete", "enqueue", "resend"],
};

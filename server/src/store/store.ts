import type { RequestScoped } from "../http/request-scope.ts";
import type { ActivityListener } from "../runs/activity.ts";
import type { IngestResult, PackedBatch, RunBatch } from "../runs/run-record.ts";
import type { PoolState } from "../storage/pool-state.ts";
import type { Promised } from "../storage/promised.ts";
import type { Readers, Writers } from "./repositories.ts";

/**
 * Everything that the server stores. Rows belong to tenants: a method that takes a tenant's id reads and changes only
 * that tenant's rows.
 */
export interface Store extends RequestScoped<Store> {
  readonly read: Promised<Readers>;
  /** Each method resolves when its change would survive the end of the process. */
  readonly write: Promised<Writers>;
  /** The tenant of requests without a key; created at the first start. */
  readonly defaultTenantId: string;
  /** Why the store accepts only deletions, which it does on a full disk; `undefined` while it accepts all writes. */
  readonly readOnlyReason: string | undefined;
  /**
   * Returns a store of the same data for a part of the server that writes by itself, such as `rule`. Its writes are
   * recorded as made by that part.
   */
  forClient(client: string): Store;
  /** Resolves when the batch would survive the end of the process. */
  ingest(tenantId: string, batch: RunBatch | PackedBatch): Promise<IngestResult>;
  /**
   * Adds a listener that is called after each commit with the counts of the runs that the commit stored. On PostgreSQL,
   * also after commits of other processes, as far as they report them.
   */
  onActivity(listener: ActivityListener): void;
  /**
   * Adds a listener that is called when another server of the same database has changed rules, alerts or webhooks, or
   * when this server becomes the leader, which applies them. On SQLite there is only one server, so no listener is
   * called.
   */
  onWake(listener: () => void): void;
  /**
   * The secret for signing URLs, which all servers of the same database share; `undefined` if this is the only server.
   */
  readonly linkSecret: Uint8Array | undefined;
  /**
   * Checks that the database answers queries.
   *
   * @throws Error the database does not answer.
   */
  assertAnswers(): Promise<void>;
  /** The connections of a database server, by their use; empty for SQLite. */
  readonly pools: Readonly<Record<string, PoolState>>;
  /** Cancels running queries and refuses new ones, because the server is about to end. */
  endReads(): void;
  /** Cancels queries, completes running writes, then releases files and threads. May be called twice. */
  close(): Promise<void>;
}

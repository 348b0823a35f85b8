import type { PoolState } from "../../storage/pool-state.ts";
import type { PoolCounts, PoolLimits } from "../../storage/postgres/session-pool.ts";

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
  /** Milliseconds between two steps of background work. */
  maintainMs: 1_000,
  /** Milliseconds between two searches for datasets that are deleted but not erased. */
  erasureMs: 60_000,
} as const;

/** Returns the limits of a pool with at most `size` sessions. */
export const toPoolLimits = (size: number): PoolLimits => ({
  size,
  maxWaiting: postgresLimits.waitingCalls,
  waitMs: postgresLimits.waitMs,
  sessionMs: postgresLimits.connectionMs,
});

/** Returns the state of a pool with its maximum number of sessions. */
export const toPoolState = (counts: PoolCounts, size: number): PoolState => ({ ...counts, size });

import type { AuditEntry, AuditOutcome } from "../model/audit-entry.ts";

export const auditLimits = {
  /** Entries in one response. */
  pageDefault: 50,
  pageMax: 200,
  /** Entries in one exported file. */
  exportMax: 100_000,
  /** Characters of the target of an entry, of one id in it, and the number of ids in it. */
  targetChars: 1_000,
  targetPartChars: 200,
  targetParts: 20,
  /**
   * Refused requests of a tenant that are recorded in a minute. A key that permits nothing could otherwise fill the
   * disk with them. Requests that take effect are always recorded.
   */
  refusalsPerMinute: 120,
  /** Expired entries that are deleted in one step. */
  prunedPerStep: 2_000,
} as const;

/** The position at which a page ended. */
export interface AuditPosition {
  readonly atMicros: number;
  readonly id: string;
}

/** Which entries a list contains, the latest first. */
export interface AuditQuery {
  /** Only entries of this tenant; `undefined` for all tenants, which only the operator of the server may read. */
  readonly tenantId: string | undefined;
  /** The id of a key, the name of another actor, or a kind of actor. */
  readonly actor?: string | undefined;
  readonly action?: string | undefined;
  readonly outcome?: AuditOutcome | undefined;
  readonly fromMicros?: number | undefined;
  /** Entries at this time are excluded. */
  readonly toMicros?: number | undefined;
  readonly after?: AuditPosition | undefined;
  readonly limit: number;
}

export interface AuditReads {
  /** Lists entries. `tenantId` is the tenant of the caller; the tenant in `query` selects whose entries are listed. */
  list(tenantId: string, query: AuditQuery): Promise<readonly AuditEntry[]>;
}

export interface AuditWrites {
  /** Stores an entry. Storing an entry with the same id again changes nothing. */
  record(tenantId: string, entry: AuditEntry): Promise<void>;
  /** Deletes some of the entries of all tenants that are older than a time. Returns how many were deleted. */
  removeExpired(beforeMicros: number): Promise<number>;
}

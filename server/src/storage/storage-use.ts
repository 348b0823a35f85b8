/** Space that the store uses. Sizes are in bytes. */
export interface StorageUse {
  /** Size of the database's pages, including free ones. */
  readonly databaseBytes: number;
  /** Size of pages that deletions have freed. They are reused before the file grows. */
  readonly freeBytes: number;
  /** Attachments of runs and examples, counted up to a limit. */
  readonly attachments: BoundedCount & { readonly bytes: number };
}

/** A number of items, or a lower bound if not all of them were counted. */
export interface BoundedCount {
  readonly count: number;
  readonly isComplete: boolean;
}

/** What a project stores. */
export interface ProjectUse extends BoundedCount {
  readonly projectId: string;
  readonly name: string;
  /** Start of the oldest run in microseconds; `null` if there are no runs. */
  readonly oldestMicros: number | null;
}

/** The number of runs that a tenant stores. */
export interface TenantRuns {
  readonly tenantId: string;
  readonly runs: number;
}

/** A part of a measurement of all runs. */
export interface MeasuredRuns {
  /** Bytes of payloads and attachments, as they are stored. */
  readonly tenants: readonly { readonly tenantId: string; readonly bytes: number }[];
  /** Where the next part begins; `null` after the last one. */
  readonly next: string | null;
}

/** Reads how much tenants store. */
export interface StorageReads {
  measure(tenantId: string): StorageUse;
  /** Returns a page of the tenant's projects, sorted by name, with their numbers of runs. */
  listProjects(
    tenantId: string,
    range: { readonly limit: number; readonly offset: number },
  ): readonly ProjectUse[];
  /** Returns the number of stored runs of each tenant that has any. */
  countRuns(): readonly TenantRuns[];
  /** Measures up to `limit` runs of all tenants; `after` is the `next` of the previous part. */
  measureRuns(part: { readonly after: string | null; readonly limit: number }): MeasuredRuns;
}

/** What takes room in the store. Sizes are bytes. */
export interface StorageUse {
  /** Of the database's pages, those included that are free. */
  readonly databaseBytes: number;
  /** Of pages that were given back by what was deleted, and are filled before the file grows. */
  readonly freeBytes: number;
  /** Of attachments of runs and examples; counted up to a bound. */
  readonly attachments: BoundedCount & { readonly bytes: number };
}

/** How many there are, or at least are where there are more than were counted. */
export interface BoundedCount {
  readonly count: number;
  readonly isComplete: boolean;
}

export interface ProjectUse extends BoundedCount {
  readonly projectId: string;
  readonly name: string;
  /** When its oldest run began, microseconds; `null` where it has none. */
  readonly oldestMicros: number | null;
}

export interface StorageReads {
  use(tenantId: string): StorageUse;
  /** Runs of the tenant's projects, by name of the project, from one on. */
  projects(
    tenantId: string,
    range: { readonly limit: number; readonly offset: number },
  ): readonly ProjectUse[];
}

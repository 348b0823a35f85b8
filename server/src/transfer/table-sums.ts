/** The number of rows of a table, and the sum of their SHA-256 hashes. */
export interface TableSum {
  readonly name: string;
  readonly count: number;
  readonly sha256: string;
}

/** What a backup of a tenant contains. */
export interface TenantBackup {
  /** The size of the file. */
  readonly bytes: number;
  readonly tables: readonly TableSum[];
}

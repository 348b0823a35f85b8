/** The number of rows of a table, and a hash of them. */
export interface TableSum {
  readonly name: string;
  readonly count: number;
  readonly sha256: string;
}

/** What a backup of a tenant contains. */
export interface TenantBackup {
  readonly bytes: number;
  readonly tables: readonly TableSum[];
}

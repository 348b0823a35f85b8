/** What was counted of a table. */
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

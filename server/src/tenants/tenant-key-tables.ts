/**
 * Ids that a tenant chose for a run, project or dataset although another tenant already used them. The rows of the
 * later tenant have a longer key instead of the id; see `tenant-keys.ts`. Most databases have no such rows.
 */
export const tenantKeyTables = `
  CREATE TABLE tenant_keys (
    tenant_id TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (tenant_id, kind, id)
  ) WITHOUT ROWID;
`;

/**
 * Ids that a tenant has chosen for its own while another tenant's run, project or dataset had them already. Its rows
 * then have a longer key in place of the id; see `tenant-keys.ts`. Most databases have none.
 */
export const tenantKeyTables = `
  CREATE TABLE tenant_keys (
    tenant_id TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (tenant_id, kind, id)
  ) WITHOUT ROWID;
`;

/**
 * SQL that creates the tables of tenants and their keys. A key's digest is the SHA-256 of 32 random bytes: these
 * can't be guessed, so the digest needs no salt, and a key can be found by its digest.
 */
export const tenantTables = `
  CREATE TABLE tenants (
    id TEXT PRIMARY KEY, handle TEXT UNIQUE, display_name_json TEXT NOT NULL, created_us INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE api_keys (
    digest TEXT PRIMARY KEY, id TEXT NOT NULL UNIQUE, tenant_id TEXT NOT NULL, name_json TEXT NOT NULL,
    hint TEXT NOT NULL, created_us INTEGER NOT NULL, revoked_us INTEGER
  ) WITHOUT ROWID;
  CREATE TABLE projects_of_tenants (
    id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, name_json TEXT NOT NULL, start_us INTEGER NOT NULL,
    end_us INTEGER, description_json TEXT, extra_json TEXT, reference_dataset_id TEXT,
    UNIQUE (tenant_id, name_json)
  ) WITHOUT ROWID;
  INSERT INTO projects_of_tenants SELECT id, tenant_id, name_json, start_us, end_us, description_json,
    extra_json, reference_dataset_id FROM projects;
  DROP TABLE projects;
  ALTER TABLE projects_of_tenants RENAME TO projects;
`;

/** SQL that adds a column with the scopes of a key, separated by commas. Keys of earlier formats permit everything. */
export const keyScopeColumn = `
  ALTER TABLE api_keys ADD COLUMN scopes TEXT NOT NULL DEFAULT 'admin';
`;

/**
 * SQL that creates the table `tenant_keys`. It contains each id that a tenant chose for a run, project or dataset
 * although another tenant already used that id. The row of the later tenant has a qualified key (the id, a slash and
 * the tenant's id) in place of the id; see `tenant-keys.ts`. Most databases have no such rows.
 */
export const tenantKeyTables = `
  CREATE TABLE tenant_keys (
    tenant_id TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (tenant_id, kind, id)
  ) WITHOUT ROWID;
`;

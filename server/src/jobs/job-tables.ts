/**
 * SQL that creates the table of jobs. Columns whose names end with `_json` contain JSON. A job is leased to the runner
 * `lease_owner` until `lease_until_us`; `claims` counts how often it was leased since its last complete step.
 */
export const jobTables = `
  CREATE TABLE jobs (
    tenant_id TEXT NOT NULL, id TEXT NOT NULL, kind TEXT NOT NULL, title_json TEXT NOT NULL,
    parameters_json TEXT NOT NULL, state TEXT NOT NULL, is_cancel_requested INTEGER NOT NULL,
    cursor_json TEXT NOT NULL, progress_json TEXT NOT NULL, failures_json TEXT NOT NULL, error_json TEXT NOT NULL,
    result_json TEXT NOT NULL, claims INTEGER NOT NULL, lease_owner TEXT, lease_until_us INTEGER NOT NULL,
    created_us INTEGER NOT NULL, started_us INTEGER, ended_us INTEGER,
    PRIMARY KEY (tenant_id, id)
  ) WITHOUT ROWID;
  CREATE INDEX jobs_by_state ON jobs (state, created_us);
  CREATE INDEX jobs_by_time ON jobs (tenant_id, created_us);
`;

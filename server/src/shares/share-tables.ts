/**
 * Shares of whole traces and of whole threads. Tokens in `shares` give access to a single run only; a run may be
 * shared both ways, with two tokens. A trace is identified by its root. The index finds the examples that were
 * created from a run; most examples have no source run.
 */
export const shareTables = `
  CREATE TABLE trace_shares (
    digest TEXT PRIMARY KEY, sealed TEXT NOT NULL, trace_id TEXT NOT NULL, id TEXT NOT NULL, UNIQUE (trace_id, id)
  ) WITHOUT ROWID;
  CREATE TABLE thread_shares (
    digest TEXT PRIMARY KEY, sealed TEXT NOT NULL, project_id TEXT NOT NULL, thread_json TEXT NOT NULL,
    UNIQUE (project_id, thread_json)
  ) WITHOUT ROWID;
  CREATE INDEX examples_by_source ON examples (source_run_id) WHERE source_run_id IS NOT NULL AND to_us IS NULL;
`;

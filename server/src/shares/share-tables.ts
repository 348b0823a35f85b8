/**
 * Shares of whole traces and of whole threads, beside `shares`, whose tokens open one run alone: a run may be shared
 * both ways, under two tokens. A trace is named by its root. The index leads from a run to the examples that were
 * made of it; most examples were made of none.
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

/**
 * Spans of OpenTelemetry beside the runs that they became: what a span names as its parent stays known
 * after the run got its place, since a span comes before those above it. `trace_id` is the sender's;
 * `parent_id` is null for a root, and for a span whose place was given in the words of runs.
 */
export const spanTables = `
  CREATE TABLE spans (
    tenant_id TEXT NOT NULL, trace_id TEXT NOT NULL, id TEXT NOT NULL, parent_id TEXT,
    kind TEXT NOT NULL, has_project INTEGER NOT NULL, run_id TEXT NOT NULL,
    PRIMARY KEY (tenant_id, trace_id, id)
  ) WITHOUT ROWID;
  CREATE INDEX spans_by_parent ON spans (tenant_id, trace_id, parent_id);
  CREATE UNIQUE INDEX spans_by_run ON spans (run_id);
  CREATE TRIGGER spans_of_runs AFTER DELETE ON runs BEGIN DELETE FROM spans WHERE run_id = OLD.id; END;
`;

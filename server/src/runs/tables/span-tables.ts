/**
 * SQL that creates the table of OpenTelemetry spans. Each row refers to the run that was created from the span. The
 * parent that a span names is stored, because spans often arrive before their ancestors and are moved later. `trace_id`
 * is the trace id that the client sent. `parent_id` is null for a span without a parent, and for a span whose
 * attributes contain its position.
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

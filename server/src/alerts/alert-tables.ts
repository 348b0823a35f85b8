/**
 * SQL that creates the tables of alerts. `draft_json` is the JSON of an `AlertDraft`. The trigger deletes the alerts of
 * a deleted project.
 */
export const alertTables = `
  CREATE TABLE alerts (
    tenant_id TEXT NOT NULL, id TEXT NOT NULL, project_id TEXT NOT NULL, name_json TEXT NOT NULL,
    draft_json TEXT NOT NULL, is_enabled INTEGER NOT NULL, created_us INTEGER NOT NULL, state TEXT NOT NULL,
    is_firing INTEGER NOT NULL, streak INTEGER NOT NULL, value REAL, evaluated_us INTEGER, changed_us INTEGER,
    problem_json TEXT, PRIMARY KEY (tenant_id, id)
  ) WITHOUT ROWID;
  CREATE INDEX alerts_by_project ON alerts (tenant_id, project_id);
  CREATE TABLE alert_events (
    tenant_id TEXT NOT NULL, alert_id TEXT NOT NULL, at_us INTEGER NOT NULL, state TEXT NOT NULL, value REAL,
    PRIMARY KEY (tenant_id, alert_id, at_us)
  ) WITHOUT ROWID;
  CREATE TRIGGER alerts_of_projects AFTER DELETE ON projects BEGIN
    DELETE FROM alert_events WHERE tenant_id = old.tenant_id
      AND alert_id IN (SELECT id FROM alerts WHERE tenant_id = old.tenant_id AND project_id = old.id);
    DELETE FROM alerts WHERE tenant_id = old.tenant_id AND project_id = old.id;
  END;
`;

/**
 * A row of the table `alerts`. The columns that end in `_us` are microseconds since the Unix epoch, those that end in
 * `_json` are JSON texts.
 */
export interface AlertRow {
  readonly tenant_id: string;
  readonly id: string;
  readonly project_id: string;
  readonly name_json: string;
  readonly draft_json: string;
  readonly is_enabled: number;
  readonly created_us: number;
  readonly state: string;
  readonly is_firing: number;
  readonly streak: number;
  readonly value: number | null;
  readonly evaluated_us: number | null;
  readonly changed_us: number | null;
  readonly problem_json: string | null;
}

/**
 * A row of the table `alert_events`: one change of the state of an alert. `at_us` is in microseconds since the Unix
 * epoch.
 */
export interface AlertEventRow {
  readonly tenant_id: string;
  readonly alert_id: string;
  readonly at_us: number;
  readonly state: string;
  readonly value: number | null;
}

/**
 * SQL that creates the tables of rules. `rule_cursor` has one row, which contains the last row of `runs` that was
 * searched for ended roots. `rule_open_roots` contains the roots up to that row that have not ended. `rule_runs` has a
 * row for each run to which a rule applies. Its state is 0 until the action was taken (1) or failed for good (2).
 * `from_row` is the last row of `runs` that had arrived when the rule was enabled. The trigger deletes the rules of a
 * deleted project.
 */
export const ruleTables = `
  CREATE TABLE rules (
    tenant_id TEXT NOT NULL, id TEXT NOT NULL, project_id TEXT NOT NULL, name_json TEXT NOT NULL,
    filter_json TEXT NOT NULL, sampling_rate REAL NOT NULL, action_json TEXT NOT NULL, is_enabled INTEGER NOT NULL,
    paused_json TEXT, created_us INTEGER NOT NULL, from_row INTEGER NOT NULL, matched INTEGER NOT NULL,
    applied INTEGER NOT NULL, failed INTEGER NOT NULL, past_json TEXT,
    PRIMARY KEY (tenant_id, id)
  ) WITHOUT ROWID;
  CREATE INDEX rules_by_project ON rules (tenant_id, project_id);
  CREATE TABLE rule_runs (
    tenant_id TEXT NOT NULL, rule_id TEXT NOT NULL, run_id TEXT NOT NULL, state INTEGER NOT NULL,
    attempts INTEGER NOT NULL, at_us INTEGER NOT NULL, next_us INTEGER, error_json TEXT,
    PRIMARY KEY (tenant_id, rule_id, run_id)
  ) WITHOUT ROWID;
  CREATE INDEX rule_runs_waiting ON rule_runs (tenant_id, rule_id, next_us) WHERE state = 0;
  CREATE INDEX rule_runs_failed ON rule_runs (tenant_id, rule_id, at_us) WHERE state = 2;
  CREATE INDEX rule_runs_by_time ON rule_runs (at_us);
  CREATE TABLE rule_cursor (id INTEGER PRIMARY KEY, last_row INTEGER NOT NULL);
  CREATE TABLE rule_open_roots (run_row INTEGER PRIMARY KEY, run_key TEXT NOT NULL, since_us INTEGER NOT NULL);
  CREATE TRIGGER rules_of_projects AFTER DELETE ON projects BEGIN
    DELETE FROM rule_runs WHERE tenant_id = old.tenant_id
      AND rule_id IN (SELECT id FROM rules WHERE tenant_id = old.tenant_id AND project_id = old.id);
    DELETE FROM rules WHERE tenant_id = old.tenant_id AND project_id = old.id;
  END;
`;

/**
 * A row of the table `rules`. The columns that end in `_us` are microseconds since the Unix epoch, those that end in
 * `_json` are JSON texts.
 */
export interface RuleRow {
  readonly tenant_id: string;
  readonly id: string;
  readonly project_id: string;
  readonly name_json: string;
  readonly filter_json: string;
  readonly sampling_rate: number;
  readonly action_json: string;
  readonly is_enabled: number;
  readonly paused_json: string | null;
  readonly created_us: number;
  readonly from_row: number;
  readonly matched: number;
  readonly applied: number;
  readonly failed: number;
  readonly past_json: string | null;
}

/** A row of the table `rule_runs`: a run that a rule applies to. */
export interface RuleRunRow {
  readonly tenant_id: string;
  readonly rule_id: string;
  readonly run_id: string;
  readonly state: number;
  readonly attempts: number;
  readonly at_us: number;
  readonly next_us: number | null;
  readonly error_json: string | null;
}

export interface RuleTables {
  readonly rules: RuleRow;
  readonly rule_runs: RuleRunRow;
  readonly rule_cursor: { readonly id: number; readonly last_row: number };
  readonly rule_open_roots: {
    readonly run_row: number;
    readonly run_key: string;
    readonly since_us: number;
  };
}

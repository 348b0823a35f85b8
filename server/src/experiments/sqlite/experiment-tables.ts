/**
 * The first version of an experiment. It is random, so that an experiment that is deleted and created again does not
 * get a version that it had before.
 */
const firstVersionSql = "abs(random() >> 11)";
const raiseVersionSql = "ON CONFLICT (project_id) DO UPDATE SET version = version + 1";

const isResultSql = (row: string): string =>
  `${row}.parent_run_id IS NULL AND ${row}.reference_example_id IS NOT NULL`;

const raiseVersionOfRunSql = (row: string): string =>
  `INSERT INTO experiment_versions SELECT ${row}.project_id, ${firstVersionSql} WHERE ${isResultSql(row)} ${raiseVersionSql};`;

const raiseVersionOfFeedbackSql = (row: string): string =>
  `INSERT INTO experiment_versions SELECT r.project_id, ${firstVersionSql} FROM runs r
      WHERE r.id = ${row}.run_id AND ${isResultSql("r")} ${raiseVersionSql};`;

/**
 * SQL that creates indexes for comparisons. They contain all columns of results and of scores, so that a comparison
 * reads nothing else. The SQL also creates the table with the version of each experiment, which changes whenever one of
 * its results or scores does.
 */
export const experimentTables = `
  CREATE INDEX experiment_results ON runs (project_id, reference_example_id, id, start_us, end_us, has_error)
    WHERE parent_run_id IS NULL AND reference_example_id IS NOT NULL;
  CREATE INDEX feedback_scores ON feedback (run_id, comparative_id, tenant_id, key_json, score)
    WHERE run_id IS NOT NULL AND score IS NOT NULL;
  CREATE TABLE experiment_versions (project_id TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TRIGGER experiment_run_new AFTER INSERT ON runs WHEN ${isResultSql("NEW")}
    BEGIN
      ${raiseVersionOfRunSql("NEW")}
    END;
  CREATE TRIGGER experiment_run_changed
    AFTER UPDATE OF project_id, reference_example_id, start_us, end_us, has_error, parent_run_id ON runs
    WHEN (${isResultSql("NEW")}) OR (${isResultSql("OLD")})
    BEGIN
      ${raiseVersionOfRunSql("OLD")}
      ${raiseVersionOfRunSql("NEW")}
    END;
  CREATE TRIGGER experiment_run_gone AFTER DELETE ON runs WHEN ${isResultSql("OLD")}
    BEGIN
      ${raiseVersionOfRunSql("OLD")}
    END;
  CREATE TRIGGER experiment_score_new AFTER INSERT ON feedback WHEN NEW.run_id IS NOT NULL
    BEGIN
      ${raiseVersionOfFeedbackSql("NEW")}
    END;
  CREATE TRIGGER experiment_score_changed AFTER UPDATE ON feedback WHEN NEW.run_id IS NOT NULL
    BEGIN
      ${raiseVersionOfFeedbackSql("NEW")}
    END;
  CREATE TRIGGER experiment_score_gone AFTER DELETE ON feedback WHEN OLD.run_id IS NOT NULL
    BEGIN
      ${raiseVersionOfFeedbackSql("OLD")}
    END;
  CREATE TRIGGER experiment_gone AFTER DELETE ON projects
    BEGIN
      DELETE FROM experiment_versions WHERE project_id = OLD.id;
    END;
`;

/**
 * SQL that creates the tables of feedback, and of the tokens with which it can be submitted. Values that clients send
 * are stored as JSON text or null; `score` is the score as a number for statistics, with 1 and 0 for true and false.
 * Feedback may arrive before its run: `run_id` need not be in `runs`, and the project of a run is read from `runs`.
 * `digest` is the digest of the feedback as it was first submitted. It distinguishes a repeated submission from
 * different feedback with the same id.
 */
export const feedbackTables = `
  CREATE TABLE feedback (
    tenant_id TEXT NOT NULL, id TEXT NOT NULL, run_id TEXT, project_id TEXT, comparative_id TEXT,
    key_json TEXT NOT NULL, score REAL, score_json TEXT, value_json TEXT, comment_json TEXT,
    correction_json TEXT, config_json TEXT, extra_json TEXT, source_type_json TEXT NOT NULL,
    source_metadata_json TEXT, created_us INTEGER NOT NULL, modified_us INTEGER NOT NULL, digest TEXT NOT NULL,
    PRIMARY KEY (tenant_id, id)
  );
  CREATE INDEX feedback_by_time ON feedback (tenant_id, created_us, id);
  CREATE INDEX feedback_by_run ON feedback (run_id, key_json) WHERE run_id IS NOT NULL;
  CREATE INDEX feedback_by_project ON feedback (project_id) WHERE project_id IS NOT NULL;
  CREATE INDEX feedback_by_comparative ON feedback (comparative_id) WHERE comparative_id IS NOT NULL;
  CREATE TABLE feedback_tokens (
    token TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, id TEXT NOT NULL, run_id TEXT NOT NULL, key_json TEXT NOT NULL,
    config_json TEXT, created_us INTEGER NOT NULL, expires_us INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX feedback_tokens_by_run ON feedback_tokens (run_id, created_us);
`;

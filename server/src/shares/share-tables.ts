import { tokenOwnerSql } from "../storage/sqlite/token-keys.ts";

/**
 * Format 11 of the database: tokens are stored as a digest, to find them, and encrypted, to show them. The tables are
 * created again, because SQLite overwrites every page of a dropped table; updating rows in place could leave copies
 * of tokens in unused space.
 */
export const tokenTables = `
  CREATE TABLE sealed_shares (
    digest TEXT PRIMARY KEY, sealed TEXT NOT NULL, trace_id TEXT NOT NULL, id TEXT NOT NULL, UNIQUE (trace_id, id)
  ) WITHOUT ROWID;
  INSERT INTO sealed_shares SELECT token_digest(token), seal_token(token, ${tokenOwnerSql.run("id")}), trace_id, id
    FROM shares;
  DROP TABLE shares;
  ALTER TABLE sealed_shares RENAME TO shares;
  CREATE TABLE sealed_feedback_tokens (
    digest TEXT PRIMARY KEY, sealed TEXT NOT NULL, tenant_id TEXT NOT NULL, id TEXT NOT NULL, run_id TEXT NOT NULL,
    key_json TEXT NOT NULL, config_json TEXT, created_us INTEGER NOT NULL, expires_us INTEGER NOT NULL
  ) WITHOUT ROWID;
  INSERT INTO sealed_feedback_tokens SELECT token_digest(token), seal_token(token, ${tokenOwnerSql.feedback("id")}),
    tenant_id, id, run_id, key_json, config_json, created_us, expires_us FROM feedback_tokens;
  DROP TABLE feedback_tokens;
  ALTER TABLE sealed_feedback_tokens RENAME TO feedback_tokens;
  CREATE INDEX feedback_tokens_by_run ON feedback_tokens (run_id, created_us);
  CREATE TABLE sealed_datasets (
    id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, name_json TEXT NOT NULL, created_us INTEGER NOT NULL,
    modified_us INTEGER NOT NULL, version_us INTEGER, example_count INTEGER NOT NULL, is_ready INTEGER NOT NULL,
    share_digest TEXT UNIQUE, share_sealed TEXT, index_json TEXT, body TEXT NOT NULL,
    UNIQUE (tenant_id, name_json)
  ) WITHOUT ROWID;
  INSERT INTO sealed_datasets SELECT id, tenant_id, name_json, created_us, modified_us, version_us, example_count,
    is_ready, CASE WHEN share_token IS NOT NULL THEN token_digest(share_token) END,
    CASE WHEN share_token IS NOT NULL THEN seal_token(share_token, ${tokenOwnerSql.dataset("id")}) END, index_json, body
    FROM datasets;
  DROP TABLE datasets;
  ALTER TABLE sealed_datasets RENAME TO datasets;
`;

/**
 * SQL that creates the tables of shares of whole traces and of whole threads. Tokens in the table `shares` give access
 * to a single run only; a run may be shared both ways, with two tokens. A trace is identified by its root. Also creates
 * an index that finds the current examples that were created from a run. It contains no other examples and no old
 * versions.
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

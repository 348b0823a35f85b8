/**
 * SQL that creates the tables of all resources except runs: format 1 of the PostgreSQL store. A test compares the
 * tables and their columns with those of SQLite. The differences:
 * - Each table with data of tenants has a column `tenant_id`. Keys that contain ids begin with it, so that tenants may
 *   use the same ids. Where the table of SQLite has no such column, its default is the tenant of the transaction.
 * - Texts are compared by bytes (`COLLATE "C"`), as SQLite does. A database with another collation would sort lists and
 *   ranges of hashes differently, and would have to rebuild its indexes after an update of its operating system.
 * - `readable_json` converts stored JSON to `jsonb`. An escape of NUL becomes the character that `text-encoding.ts`
 *   uses for NUL, and an escape of a surrogate becomes U+FFFD.
 * - Ids of prompts and their commits are unique in the whole database, because public prompts are used by all tenants.
 */
export const resourceTables = `
  CREATE FUNCTION readable_json(stored TEXT) RETURNS JSONB LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT regexp_replace(
      regexp_replace(stored, '(?<!\\\\)((\\\\\\\\)*)\\\\u0000', '\\1' || chr(1112063), 'g'),
      '(?<!\\\\)((\\\\\\\\)*)\\\\ud[89a-f][0-9a-f]{2}', '\\1\\\\ufffd', 'gi'
    )::jsonb
  $$;
  CREATE TABLE settings (key TEXT COLLATE "C" PRIMARY KEY, value TEXT NOT NULL);
  CREATE TABLE tenants (
    id TEXT COLLATE "C" PRIMARY KEY, handle TEXT COLLATE "C" UNIQUE, display_name_json TEXT COLLATE "C" NOT NULL,
    created_us BIGINT NOT NULL
  );
  CREATE TABLE api_keys (
    digest TEXT COLLATE "C" PRIMARY KEY, id TEXT COLLATE "C" NOT NULL UNIQUE, tenant_id TEXT COLLATE "C" NOT NULL,
    name_json TEXT COLLATE "C" NOT NULL, hint TEXT COLLATE "C" NOT NULL, created_us BIGINT NOT NULL, revoked_us BIGINT,
    scopes TEXT COLLATE "C" NOT NULL DEFAULT 'admin'
  );

  CREATE TABLE projects (
    id TEXT COLLATE "C" NOT NULL, tenant_id TEXT COLLATE "C" NOT NULL, name_json TEXT COLLATE "C" NOT NULL,
    start_us BIGINT NOT NULL, end_us BIGINT, description_json TEXT COLLATE "C", extra_json TEXT COLLATE "C",
    reference_dataset_id TEXT COLLATE "C",
    PRIMARY KEY (tenant_id, id), UNIQUE (tenant_id, name_json)
  );
  CREATE TABLE views (
    tenant_id TEXT COLLATE "C" NOT NULL, project_id TEXT COLLATE "C" NOT NULL, id TEXT COLLATE "C" NOT NULL,
    name_json TEXT COLLATE "C" NOT NULL, fields_json TEXT COLLATE "C" NOT NULL, created_us BIGINT NOT NULL,
    modified_us BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, project_id, id)
  );

  CREATE TABLE prompts (
    id TEXT COLLATE "C" PRIMARY KEY, tenant_id TEXT COLLATE "C" NOT NULL, handle TEXT COLLATE "C" NOT NULL,
    repo_type TEXT COLLATE "C" NOT NULL, is_public BIGINT NOT NULL, is_archived BIGINT NOT NULL,
    created_us BIGINT NOT NULL, updated_us BIGINT NOT NULL, likes BIGINT NOT NULL, downloads BIGINT NOT NULL,
    views BIGINT NOT NULL, commits BIGINT NOT NULL, last_hash TEXT COLLATE "C", search TEXT COLLATE "C" NOT NULL,
    fields_json TEXT COLLATE "C" NOT NULL,
    UNIQUE (tenant_id, handle)
  );
  CREATE INDEX public_prompts ON prompts (updated_us) WHERE is_public = 1;
  CREATE TABLE prompt_commits (
    id TEXT COLLATE "C" PRIMARY KEY, tenant_id TEXT COLLATE "C" NOT NULL, prompt_id TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL, hash TEXT COLLATE "C" NOT NULL, parent_id TEXT COLLATE "C", parent_hash TEXT COLLATE "C",
    created_us BIGINT NOT NULL, downloads BIGINT NOT NULL, views BIGINT NOT NULL, description_json TEXT COLLATE "C",
    manifest TEXT COLLATE "C" NOT NULL,
    UNIQUE (prompt_id, hash), UNIQUE (prompt_id, number)
  );
  CREATE TABLE prompt_tags (
    prompt_id TEXT COLLATE "C" NOT NULL, name TEXT COLLATE "C" NOT NULL, tenant_id TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL, commit_id TEXT COLLATE "C" NOT NULL, created_us BIGINT NOT NULL,
    updated_us BIGINT NOT NULL,
    PRIMARY KEY (prompt_id, name)
  );
  CREATE TABLE prompt_likes (
    prompt_id TEXT COLLATE "C" NOT NULL, tenant_id TEXT COLLATE "C" NOT NULL, PRIMARY KEY (prompt_id, tenant_id)
  );

  CREATE TABLE datasets (
    id TEXT COLLATE "C" NOT NULL, tenant_id TEXT COLLATE "C" NOT NULL, name_json TEXT COLLATE "C" NOT NULL,
    created_us BIGINT NOT NULL, modified_us BIGINT NOT NULL, version_us BIGINT, example_count BIGINT NOT NULL,
    is_ready BIGINT NOT NULL, share_digest TEXT COLLATE "C" UNIQUE, share_sealed TEXT COLLATE "C",
    index_json TEXT COLLATE "C", body TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, id), UNIQUE (tenant_id, name_json)
  );
  CREATE INDEX datasets_retired ON datasets (is_ready) WHERE is_ready <> 1;
  CREATE TABLE dataset_versions (
    tenant_id TEXT COLLATE "C" NOT NULL, dataset_id TEXT COLLATE "C" NOT NULL, at_us BIGINT NOT NULL,
    author_json TEXT COLLATE "C",
    PRIMARY KEY (tenant_id, dataset_id, at_us)
  );
  CREATE TABLE dataset_tags (
    tenant_id TEXT COLLATE "C" NOT NULL, dataset_id TEXT COLLATE "C" NOT NULL, tag_json TEXT COLLATE "C" NOT NULL,
    at_us BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, dataset_id, tag_json)
  );
  CREATE TABLE examples (
    key BIGINT PRIMARY KEY, tenant_id TEXT COLLATE "C" NOT NULL, dataset_id TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL, position BIGINT NOT NULL, created_us BIGINT NOT NULL, from_us BIGINT NOT NULL,
    to_us BIGINT, source_run_id TEXT COLLATE "C", inputs TEXT COLLATE "C" NOT NULL, outputs TEXT COLLATE "C",
    metadata TEXT COLLATE "C" NOT NULL, attachments TEXT COLLATE "C"
  );
  CREATE INDEX examples_by_id ON examples (tenant_id, id);
  CREATE INDEX examples_now ON examples (tenant_id, dataset_id, from_us DESC) WHERE to_us IS NULL;
  CREATE INDEX examples_by_position ON examples (tenant_id, dataset_id, position);
  CREATE INDEX examples_by_source ON examples (tenant_id, source_run_id)
    WHERE source_run_id IS NOT NULL AND to_us IS NULL;
  CREATE SEQUENCE example_key_blocks;
  CREATE TABLE example_blobs (
    key BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, tenant_id TEXT COLLATE "C" NOT NULL,
    dataset_id TEXT COLLATE "C" NOT NULL, example_id TEXT COLLATE "C" NOT NULL, bytes BYTEA NOT NULL, checksum BIGINT
  );
  CREATE INDEX example_blobs_by_example ON example_blobs (tenant_id, example_id);
  CREATE INDEX example_blobs_by_dataset ON example_blobs (tenant_id, dataset_id);
  CREATE TABLE example_texts (
    key BIGINT PRIMARY KEY, tenant_id TEXT COLLATE "C" NOT NULL, dataset_id TEXT COLLATE "C" NOT NULL,
    words TSVECTOR NOT NULL
  );
  CREATE INDEX example_texts_by_dataset ON example_texts (tenant_id, dataset_id);
  CREATE INDEX example_texts_words ON example_texts USING GIN (words);

  CREATE TABLE comparatives (
    tenant_id TEXT COLLATE "C" NOT NULL, id TEXT COLLATE "C" NOT NULL, dataset_id TEXT COLLATE "C" NOT NULL,
    name_json TEXT COLLATE "C", description_json TEXT COLLATE "C", extra_json TEXT COLLATE "C",
    created_us BIGINT NOT NULL, modified_us BIGINT NOT NULL, digest TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, id)
  );
  CREATE INDEX comparatives_by_dataset ON comparatives (tenant_id, dataset_id, created_us);
  CREATE TABLE comparative_experiments (
    tenant_id TEXT COLLATE "C" NOT NULL, comparative_id TEXT COLLATE "C" NOT NULL, position BIGINT NOT NULL,
    project_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, comparative_id, position)
  );

  CREATE TABLE feedback (
    tenant_id TEXT COLLATE "C" NOT NULL, id TEXT COLLATE "C" NOT NULL, run_id TEXT COLLATE "C",
    project_id TEXT COLLATE "C", comparative_id TEXT COLLATE "C", key_json TEXT COLLATE "C" NOT NULL,
    score DOUBLE PRECISION, score_json TEXT COLLATE "C", value_json TEXT COLLATE "C", comment_json TEXT COLLATE "C",
    correction_json TEXT COLLATE "C", config_json TEXT COLLATE "C", extra_json TEXT COLLATE "C",
    source_type_json TEXT COLLATE "C" NOT NULL, source_metadata_json TEXT COLLATE "C", created_us BIGINT NOT NULL,
    modified_us BIGINT NOT NULL, digest TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, id)
  );
  CREATE INDEX feedback_by_time ON feedback (tenant_id, created_us, id);
  CREATE INDEX feedback_by_run ON feedback (tenant_id, run_id, key_json) WHERE run_id IS NOT NULL;
  CREATE INDEX feedback_by_project ON feedback (tenant_id, project_id) WHERE project_id IS NOT NULL;
  CREATE INDEX feedback_by_comparative ON feedback (tenant_id, comparative_id) WHERE comparative_id IS NOT NULL;
  CREATE INDEX feedback_by_key ON feedback (tenant_id, key_json, score, run_id) WHERE run_id IS NOT NULL;
  CREATE TABLE feedback_tokens (
    digest TEXT COLLATE "C" PRIMARY KEY, sealed TEXT COLLATE "C" NOT NULL, tenant_id TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL, run_id TEXT COLLATE "C" NOT NULL, key_json TEXT COLLATE "C" NOT NULL,
    config_json TEXT COLLATE "C", created_us BIGINT NOT NULL, expires_us BIGINT NOT NULL
  );
  CREATE INDEX feedback_tokens_by_run ON feedback_tokens (tenant_id, run_id, created_us);

  CREATE TABLE annotation_queues (
    tenant_id TEXT COLLATE "C" NOT NULL, id TEXT COLLATE "C" NOT NULL, name_json TEXT COLLATE "C" NOT NULL,
    default_dataset_id TEXT COLLATE "C", body TEXT COLLATE "C" NOT NULL, created_us BIGINT NOT NULL,
    updated_us BIGINT NOT NULL, digest TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, id)
  );
  CREATE TABLE annotation_queue_runs (
    place BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, tenant_id TEXT COLLATE "C" NOT NULL,
    queue_id TEXT COLLATE "C" NOT NULL, id TEXT COLLATE "C" NOT NULL, run_id TEXT COLLATE "C" NOT NULL,
    added_us BIGINT NOT NULL, reviewed_us BIGINT, completed_us BIGINT,
    UNIQUE (tenant_id, queue_id, run_id)
  );
  CREATE INDEX annotation_queue_runs_in_order ON annotation_queue_runs (tenant_id, queue_id, added_us, place);
  CREATE INDEX annotation_queue_runs_by_run ON annotation_queue_runs (tenant_id, run_id);
  CREATE INDEX annotation_queue_runs_open ON annotation_queue_runs (tenant_id, queue_id, added_us, place)
    WHERE completed_us IS NULL;
  CREATE TABLE annotation_queue_reviews (
    place BIGINT NOT NULL, reviewer TEXT COLLATE "C" NOT NULL, tenant_id TEXT COLLATE "C" NOT NULL,
    queue_id TEXT COLLATE "C" NOT NULL, until_us BIGINT, skipped_us BIGINT, done_us BIGINT,
    PRIMARY KEY (place, reviewer)
  );
  CREATE INDEX annotation_queue_reviews_by_reviewer
    ON annotation_queue_reviews (tenant_id, queue_id, reviewer, done_us, until_us);
  CREATE FUNCTION delete_reviews_of_entry() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    DELETE FROM annotation_queue_reviews WHERE place = OLD.place;
    RETURN NULL;
  END $$;
  CREATE TRIGGER annotation_queue_reviews_gone AFTER DELETE ON annotation_queue_runs
    FOR EACH ROW EXECUTE FUNCTION delete_reviews_of_entry();

  CREATE TABLE shares (
    digest TEXT COLLATE "C" PRIMARY KEY, sealed TEXT COLLATE "C" NOT NULL, trace_id TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    tenant_id TEXT COLLATE "C" NOT NULL DEFAULT current_setting('millrace.tenant') CHECK (tenant_id <> '*'),
    UNIQUE (tenant_id, trace_id, id)
  );
  CREATE TABLE trace_shares (
    digest TEXT COLLATE "C" PRIMARY KEY, sealed TEXT COLLATE "C" NOT NULL, trace_id TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    tenant_id TEXT COLLATE "C" NOT NULL DEFAULT current_setting('millrace.tenant') CHECK (tenant_id <> '*'),
    UNIQUE (tenant_id, trace_id, id)
  );
  CREATE TABLE thread_shares (
    digest TEXT COLLATE "C" PRIMARY KEY, sealed TEXT COLLATE "C" NOT NULL, project_id TEXT COLLATE "C" NOT NULL,
    thread_json TEXT COLLATE "C" NOT NULL,
    tenant_id TEXT COLLATE "C" NOT NULL DEFAULT current_setting('millrace.tenant') CHECK (tenant_id <> '*'),
    UNIQUE (tenant_id, project_id, thread_json)
  );

  CREATE TABLE model_prices (
    tenant_id TEXT COLLATE "C" NOT NULL, model TEXT COLLATE "C" NOT NULL, provider TEXT COLLATE "C" NOT NULL,
    tier TEXT COLLATE "C" NOT NULL, from_us BIGINT NOT NULL, prices_json TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, model, provider, tier, from_us)
  );
  CREATE TABLE model_spending (
    tenant_id TEXT COLLATE "C" NOT NULL, day TEXT COLLATE "C" NOT NULL, dollars DOUBLE PRECISION NOT NULL,
    calls BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, day)
  );
  CREATE TABLE jobs (
    tenant_id TEXT COLLATE "C" NOT NULL, id TEXT COLLATE "C" NOT NULL, kind TEXT COLLATE "C" NOT NULL,
    title_json TEXT COLLATE "C" NOT NULL, parameters_json TEXT COLLATE "C" NOT NULL, state TEXT COLLATE "C" NOT NULL,
    is_cancel_requested BIGINT NOT NULL, cursor_json TEXT COLLATE "C" NOT NULL,
    progress_json TEXT COLLATE "C" NOT NULL, failures_json TEXT COLLATE "C" NOT NULL,
    error_json TEXT COLLATE "C" NOT NULL, result_json TEXT COLLATE "C" NOT NULL, claims BIGINT NOT NULL,
    lease_owner TEXT COLLATE "C", lease_until_us BIGINT NOT NULL, created_us BIGINT NOT NULL, started_us BIGINT,
    ended_us BIGINT,
    PRIMARY KEY (tenant_id, id)
  );
  CREATE INDEX jobs_by_state ON jobs (state, created_us);
  CREATE INDEX jobs_by_time ON jobs (tenant_id, created_us);

  CREATE TABLE webhooks (
    tenant_id TEXT COLLATE "C" NOT NULL, id TEXT COLLATE "C" NOT NULL, name_json TEXT COLLATE "C" NOT NULL,
    url TEXT COLLATE "C" NOT NULL, sealed TEXT COLLATE "C" NOT NULL, is_enabled BIGINT NOT NULL,
    created_us BIGINT NOT NULL, delivered BIGINT NOT NULL, last_delivered_us BIGINT,
    previous_sealed TEXT COLLATE "C", previous_until_us BIGINT,
    PRIMARY KEY (tenant_id, id)
  );
  CREATE TABLE webhook_deliveries (
    tenant_id TEXT COLLATE "C" NOT NULL, id TEXT COLLATE "C" NOT NULL, webhook_id TEXT COLLATE "C" NOT NULL,
    event TEXT COLLATE "C" NOT NULL, body TEXT COLLATE "C" NOT NULL, state BIGINT NOT NULL, attempts BIGINT NOT NULL,
    created_us BIGINT NOT NULL, next_us BIGINT, last_us BIGINT, last_status BIGINT, last_error TEXT COLLATE "C",
    PRIMARY KEY (tenant_id, id)
  );
  CREATE INDEX webhook_deliveries_waiting ON webhook_deliveries (tenant_id, webhook_id, next_us) WHERE state = 0;
  CREATE INDEX webhook_deliveries_latest ON webhook_deliveries (tenant_id, webhook_id, state, created_us);
  CREATE TABLE rules (
    tenant_id TEXT COLLATE "C" NOT NULL, id TEXT COLLATE "C" NOT NULL, project_id TEXT COLLATE "C" NOT NULL,
    name_json TEXT COLLATE "C" NOT NULL, filter_json TEXT COLLATE "C" NOT NULL, sampling_rate DOUBLE PRECISION NOT NULL,
    action_json TEXT COLLATE "C" NOT NULL, is_enabled BIGINT NOT NULL, paused_json TEXT COLLATE "C",
    created_us BIGINT NOT NULL, from_row BIGINT NOT NULL, matched BIGINT NOT NULL, applied BIGINT NOT NULL,
    failed BIGINT NOT NULL, past_json TEXT COLLATE "C",
    PRIMARY KEY (tenant_id, id)
  );
  CREATE INDEX rules_by_project ON rules (tenant_id, project_id);
  CREATE TABLE rule_runs (
    tenant_id TEXT COLLATE "C" NOT NULL, rule_id TEXT COLLATE "C" NOT NULL, run_id TEXT COLLATE "C" NOT NULL,
    state BIGINT NOT NULL, attempts BIGINT NOT NULL, at_us BIGINT NOT NULL, next_us BIGINT,
    error_json TEXT COLLATE "C",
    PRIMARY KEY (tenant_id, rule_id, run_id)
  );
  CREATE INDEX rule_runs_waiting ON rule_runs (tenant_id, rule_id, next_us) WHERE state = 0;
  CREATE INDEX rule_runs_failed ON rule_runs (tenant_id, rule_id, at_us) WHERE state = 2;
  CREATE INDEX rule_runs_by_time ON rule_runs (at_us);
  CREATE TABLE rule_cursor (id BIGINT PRIMARY KEY, last_row BIGINT NOT NULL);
  CREATE TABLE rule_open_roots (
    run_row BIGINT PRIMARY KEY, run_key TEXT COLLATE "C" NOT NULL, since_us BIGINT NOT NULL
  );
  CREATE TABLE alerts (
    tenant_id TEXT COLLATE "C" NOT NULL, id TEXT COLLATE "C" NOT NULL, project_id TEXT COLLATE "C" NOT NULL,
    name_json TEXT COLLATE "C" NOT NULL, draft_json TEXT COLLATE "C" NOT NULL, is_enabled BIGINT NOT NULL,
    created_us BIGINT NOT NULL, state TEXT COLLATE "C" NOT NULL, is_firing BIGINT NOT NULL, streak BIGINT NOT NULL,
    value DOUBLE PRECISION, evaluated_us BIGINT, changed_us BIGINT, problem_json TEXT COLLATE "C",
    PRIMARY KEY (tenant_id, id)
  );
  CREATE INDEX alerts_by_project ON alerts (tenant_id, project_id);
  CREATE TABLE alert_events (
    tenant_id TEXT COLLATE "C" NOT NULL, alert_id TEXT COLLATE "C" NOT NULL, at_us BIGINT NOT NULL,
    state TEXT COLLATE "C" NOT NULL, value DOUBLE PRECISION,
    PRIMARY KEY (tenant_id, alert_id, at_us)
  );

  CREATE TABLE comments (
    tenant_id TEXT COLLATE "C" NOT NULL, id TEXT COLLATE "C" NOT NULL, run_id TEXT COLLATE "C",
    trace_id TEXT COLLATE "C", example_id TEXT COLLATE "C", dataset_id TEXT COLLATE "C",
    text_json TEXT COLLATE "C" NOT NULL, name_json TEXT COLLATE "C", key_id TEXT COLLATE "C",
    key_json TEXT COLLATE "C", created_us BIGINT NOT NULL, edited_us BIGINT,
    PRIMARY KEY (tenant_id, id)
  );
  CREATE INDEX comments_by_run ON comments (tenant_id, run_id, created_us, id) WHERE run_id IS NOT NULL;
  CREATE INDEX comments_by_trace ON comments (tenant_id, trace_id, run_id) WHERE trace_id IS NOT NULL;
  CREATE INDEX comments_by_example ON comments (tenant_id, example_id, created_us, id) WHERE example_id IS NOT NULL;
  CREATE INDEX comments_by_dataset ON comments (tenant_id, dataset_id) WHERE dataset_id IS NOT NULL;
  CREATE FUNCTION delete_comments_of_dataset() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    DELETE FROM comments WHERE tenant_id = OLD.tenant_id AND dataset_id = OLD.id;
    RETURN NULL;
  END $$;
  CREATE TRIGGER comments_of_datasets AFTER DELETE ON datasets
    FOR EACH ROW EXECUTE FUNCTION delete_comments_of_dataset();
  CREATE FUNCTION delete_comments_of_examples() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    DELETE FROM comments c USING deleted d
      WHERE c.tenant_id = d.tenant_id AND c.dataset_id = d.dataset_id AND c.example_id = d.id
        AND NOT EXISTS (SELECT FROM examples e WHERE e.tenant_id = d.tenant_id AND e.dataset_id = d.dataset_id
          AND e.position = d.position AND e.id = d.id);
    RETURN NULL;
  END $$;
  CREATE TRIGGER comments_of_examples AFTER DELETE ON examples REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION delete_comments_of_examples();

  CREATE TABLE audit_entries (
    tenant_id TEXT COLLATE "C" NOT NULL, at_us BIGINT NOT NULL, id TEXT COLLATE "C" PRIMARY KEY,
    actor_kind TEXT COLLATE "C" NOT NULL, actor TEXT COLLATE "C" NOT NULL,
    actor_name_json TEXT COLLATE "C" NOT NULL, address TEXT COLLATE "C", action TEXT COLLATE "C" NOT NULL,
    target_json TEXT COLLATE "C" NOT NULL, outcome TEXT COLLATE "C" NOT NULL, status BIGINT,
    request_id TEXT COLLATE "C"
  );
  CREATE INDEX audit_entries_of_tenants ON audit_entries (tenant_id, at_us, id);
  CREATE INDEX audit_entries_latest ON audit_entries (at_us, id);
  CREATE FUNCTION refuse_changed_audit_entry() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    RAISE EXCEPTION 'entries of the audit log can not be changed';
  END $$;
  CREATE TRIGGER audit_entries_are_final BEFORE UPDATE ON audit_entries
    FOR EACH ROW EXECUTE FUNCTION refuse_changed_audit_entry();

  CREATE FUNCTION delete_rows_of_project() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    DELETE FROM views WHERE tenant_id = OLD.tenant_id AND project_id = OLD.id;
    DELETE FROM rule_runs WHERE tenant_id = OLD.tenant_id
      AND rule_id IN (SELECT id FROM rules WHERE tenant_id = OLD.tenant_id AND project_id = OLD.id);
    DELETE FROM rules WHERE tenant_id = OLD.tenant_id AND project_id = OLD.id;
    DELETE FROM alert_events WHERE tenant_id = OLD.tenant_id
      AND alert_id IN (SELECT id FROM alerts WHERE tenant_id = OLD.tenant_id AND project_id = OLD.id);
    DELETE FROM alerts WHERE tenant_id = OLD.tenant_id AND project_id = OLD.id;
    RETURN NULL;
  END $$;
  CREATE TRIGGER rows_of_projects AFTER DELETE ON projects
    FOR EACH ROW EXECUTE FUNCTION delete_rows_of_project();
`;

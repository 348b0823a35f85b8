/**
 * SQL that creates the table of comments. A comment refers to a run and its trace, or to an example and its dataset.
 * When one of these is deleted, the triggers delete the comments on it. An example has a row for each version of its
 * content, and its comments are deleted with the last of these rows.
 */
export const commentTables = `
  CREATE TABLE comments (
    tenant_id TEXT NOT NULL, id TEXT NOT NULL, run_id TEXT, trace_id TEXT, example_id TEXT, dataset_id TEXT,
    text_json TEXT NOT NULL, name_json TEXT, key_id TEXT, key_json TEXT,
    created_us INTEGER NOT NULL, edited_us INTEGER,
    PRIMARY KEY (tenant_id, id)
  );
  CREATE INDEX comments_by_run ON comments (run_id, created_us, id) WHERE run_id IS NOT NULL;
  CREATE INDEX comments_by_trace ON comments (tenant_id, trace_id, run_id) WHERE trace_id IS NOT NULL;
  CREATE INDEX comments_by_example ON comments (example_id, created_us, id) WHERE example_id IS NOT NULL;
  CREATE INDEX comments_by_dataset ON comments (dataset_id) WHERE dataset_id IS NOT NULL;
  CREATE TRIGGER comments_of_runs AFTER DELETE ON runs BEGIN
    DELETE FROM comments WHERE run_id = OLD.id;
  END;
  CREATE TRIGGER comments_of_datasets AFTER DELETE ON datasets BEGIN
    DELETE FROM comments WHERE dataset_id = OLD.id;
  END;
  CREATE TRIGGER comments_of_examples AFTER DELETE ON examples BEGIN
    DELETE FROM comments WHERE example_id = OLD.id AND dataset_id = OLD.dataset_id
      AND NOT EXISTS (SELECT 1 FROM examples e WHERE e.dataset_id = OLD.dataset_id
        AND e.position = OLD.position AND e.id = OLD.id);
  END;
`;

/**
 * A row of the table `comments`. The columns that end in `_us` are microseconds since the Unix epoch, those that end in
 * `_json` are JSON texts.
 */
export interface CommentRow {
  readonly tenant_id: string;
  readonly id: string;
  readonly run_id: string | null;
  readonly trace_id: string | null;
  readonly example_id: string | null;
  readonly dataset_id: string | null;
  readonly text_json: string;
  readonly name_json: string | null;
  readonly key_id: string | null;
  readonly key_json: string | null;
  readonly created_us: number;
  readonly edited_us: number | null;
}

/**
 * SQL that creates the tables of annotation queues. A queue is ordered by `added_us`, then by `place`, which is the row
 * number. A run is in a queue at most once. The column `id` of `annotation_queue_runs` identifies the entry, not the
 * run.
 */
export const annotationQueueTables = `
  CREATE TABLE annotation_queues (
    tenant_id TEXT NOT NULL, id TEXT NOT NULL, name_json TEXT NOT NULL, default_dataset_id TEXT, body TEXT NOT NULL,
    created_us INTEGER NOT NULL, updated_us INTEGER NOT NULL, digest TEXT NOT NULL,
    PRIMARY KEY (tenant_id, id)
  ) WITHOUT ROWID;
  CREATE TABLE annotation_queue_runs (
    place INTEGER PRIMARY KEY AUTOINCREMENT, tenant_id TEXT NOT NULL, queue_id TEXT NOT NULL, id TEXT NOT NULL,
    run_id TEXT NOT NULL, added_us INTEGER NOT NULL, reviewed_us INTEGER,
    UNIQUE (tenant_id, queue_id, run_id)
  );
  CREATE INDEX annotation_queue_runs_in_order ON annotation_queue_runs (tenant_id, queue_id, added_us, place);
  CREATE INDEX annotation_queue_runs_by_run ON annotation_queue_runs (run_id);
`;

/**
 * SQL that creates the table of reviews, with one row for each pair of an entry (`place`) and a reviewer. A row stores
 * when the reviewer's claim expires (`until_us`), and when the reviewer skipped or finished the run. `completed_us` of
 * an entry is set while as many reviewers have finished it as the queue requires. The reviewer without a name, `''`,
 * represents the clients of the API.
 */
export const queueReviewTables = `
  ALTER TABLE annotation_queue_runs ADD COLUMN completed_us INTEGER;
  UPDATE annotation_queue_runs SET completed_us = reviewed_us;
  CREATE INDEX annotation_queue_runs_open ON annotation_queue_runs (tenant_id, queue_id, added_us, place)
    WHERE completed_us IS NULL;
  CREATE TABLE annotation_queue_reviews (
    place INTEGER NOT NULL, reviewer TEXT NOT NULL, tenant_id TEXT NOT NULL, queue_id TEXT NOT NULL,
    until_us INTEGER, skipped_us INTEGER, done_us INTEGER,
    PRIMARY KEY (place, reviewer)
  ) WITHOUT ROWID;
  CREATE INDEX annotation_queue_reviews_by_reviewer
    ON annotation_queue_reviews (tenant_id, queue_id, reviewer, done_us, until_us);
  INSERT INTO annotation_queue_reviews (place, reviewer, tenant_id, queue_id, done_us)
    SELECT place, '', tenant_id, queue_id, reviewed_us FROM annotation_queue_runs WHERE reviewed_us IS NOT NULL;
  CREATE TRIGGER annotation_queue_reviews_gone AFTER DELETE ON annotation_queue_runs BEGIN
    DELETE FROM annotation_queue_reviews WHERE place = OLD.place;
  END;
`;

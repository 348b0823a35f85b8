/**
 * Reviews of runs in queues: a claim until `until_us`, and when the run was skipped or done. One row per entry
 * (`place`) and reviewer. `completed_us` of an entry is set while as many reviewers are done with it as the queue
 * requires. The reviewer without a name, `''`, represents the callers of the API.
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

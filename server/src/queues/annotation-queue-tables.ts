/**
 * Queues of runs for review. A queue is ordered by `added_us`, then by `place`, the row's key. A run is in a queue at
 * most once. The column `id` of `annotation_queue_runs` identifies the entry, not the run.
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

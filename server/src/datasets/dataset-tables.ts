/**
 * SQL that creates the tables of datasets, and of their examples in every version. A row of `examples` holds an example
 * from version `from_us` up to, but not including, `to_us`, or up to the newest version if `to_us` is null. So one
 * condition selects the examples of any version. Payloads are JSON texts as they were received. `position` is the order
 * in which examples were created; an update keeps it. `is_ready` is 1 for a complete dataset, 0 while it is being
 * uploaded and 2 while it is being deleted. Only complete datasets are visible.
 */
export const datasetTables = `
  CREATE TABLE datasets (
    id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, name_json TEXT NOT NULL, created_us INTEGER NOT NULL,
    modified_us INTEGER NOT NULL, version_us INTEGER, example_count INTEGER NOT NULL, is_ready INTEGER NOT NULL,
    share_token TEXT UNIQUE, index_json TEXT, body TEXT NOT NULL,
    UNIQUE (tenant_id, name_json)
  ) WITHOUT ROWID;
  CREATE TABLE dataset_versions (
    tenant_id TEXT NOT NULL, dataset_id TEXT NOT NULL, at_us INTEGER NOT NULL, PRIMARY KEY (dataset_id, at_us)
  ) WITHOUT ROWID;
  CREATE TABLE dataset_tags (
    tenant_id TEXT NOT NULL, dataset_id TEXT NOT NULL, tag_json TEXT NOT NULL, at_us INTEGER NOT NULL,
    PRIMARY KEY (dataset_id, tag_json)
  ) WITHOUT ROWID;
  CREATE TABLE examples (
    key INTEGER PRIMARY KEY, tenant_id TEXT NOT NULL, dataset_id TEXT NOT NULL, id TEXT NOT NULL,
    position INTEGER NOT NULL, created_us INTEGER NOT NULL, from_us INTEGER NOT NULL, to_us INTEGER,
    source_run_id TEXT, inputs TEXT NOT NULL, outputs TEXT, metadata TEXT NOT NULL, attachments TEXT
  );
  CREATE INDEX examples_by_id ON examples (id);
  CREATE INDEX examples_now ON examples (dataset_id, from_us DESC) WHERE to_us IS NULL;
  CREATE INDEX examples_by_position ON examples (dataset_id, position);
  CREATE TABLE example_blobs (
    key INTEGER PRIMARY KEY AUTOINCREMENT, tenant_id TEXT NOT NULL, dataset_id TEXT NOT NULL,
    example_id TEXT NOT NULL, bytes BLOB NOT NULL
  );
  CREATE INDEX example_blobs_by_example ON example_blobs (example_id);
  CREATE VIRTUAL TABLE example_texts USING fts5(
    text, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
  );
`;

/**
 * SQL that adds a column for the author of a version, as the JSON of a `VersionAuthor`. It is null if the author is not
 * known, as for all versions that were written before the column existed.
 */
export const versionAuthorColumn = `
  ALTER TABLE dataset_versions ADD COLUMN author_json TEXT;
`;

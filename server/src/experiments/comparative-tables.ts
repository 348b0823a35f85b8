/**
 * SQL that creates the tables of stored comparisons, which the API calls comparative experiments: which experiments on
 * a dataset are compared, and in which order they are shown.
 */
export const comparativeTables = `
  CREATE TABLE comparatives (
    tenant_id TEXT NOT NULL, id TEXT NOT NULL, dataset_id TEXT NOT NULL, name_json TEXT, description_json TEXT,
    extra_json TEXT, created_us INTEGER NOT NULL, modified_us INTEGER NOT NULL, digest TEXT NOT NULL,
    PRIMARY KEY (tenant_id, id)
  ) WITHOUT ROWID;
  CREATE INDEX comparatives_by_dataset ON comparatives (dataset_id, created_us);
  CREATE TABLE comparative_experiments (
    tenant_id TEXT NOT NULL, comparative_id TEXT NOT NULL, position INTEGER NOT NULL, project_id TEXT NOT NULL,
    PRIMARY KEY (tenant_id, comparative_id, position)
  ) WITHOUT ROWID;
`;

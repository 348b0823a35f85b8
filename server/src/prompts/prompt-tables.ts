/**
 * SQL that creates the tables of the prompt hub. Counters are stored in the rows to which they belong, because lists
 * are sorted by them. Manifests and texts of clients are stored as JSON; `search` is the normalized text in which
 * lists search.
 */
export const promptTables = `
  CREATE TABLE prompts (
    id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, handle TEXT NOT NULL, repo_type TEXT NOT NULL,
    is_public INTEGER NOT NULL, is_archived INTEGER NOT NULL, created_us INTEGER NOT NULL,
    updated_us INTEGER NOT NULL, likes INTEGER NOT NULL, downloads INTEGER NOT NULL, views INTEGER NOT NULL,
    commits INTEGER NOT NULL, last_hash TEXT, search TEXT NOT NULL, fields_json TEXT NOT NULL,
    UNIQUE (tenant_id, handle)
  );
  CREATE INDEX public_prompts ON prompts (updated_us) WHERE is_public = 1;
  CREATE TABLE prompt_commits (
    id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, prompt_id TEXT NOT NULL, number INTEGER NOT NULL,
    hash TEXT NOT NULL, parent_id TEXT, parent_hash TEXT, created_us INTEGER NOT NULL,
    downloads INTEGER NOT NULL, views INTEGER NOT NULL, description_json TEXT, manifest TEXT NOT NULL,
    UNIQUE (prompt_id, hash), UNIQUE (prompt_id, number)
  );
  CREATE TABLE prompt_tags (
    prompt_id TEXT NOT NULL, name TEXT NOT NULL, tenant_id TEXT NOT NULL, id TEXT NOT NULL,
    commit_id TEXT NOT NULL, created_us INTEGER NOT NULL, updated_us INTEGER NOT NULL,
    PRIMARY KEY (prompt_id, name)
  ) WITHOUT ROWID;
  CREATE TABLE prompt_likes (
    prompt_id TEXT NOT NULL, tenant_id TEXT NOT NULL, PRIMARY KEY (prompt_id, tenant_id)
  ) WITHOUT ROWID;
`;

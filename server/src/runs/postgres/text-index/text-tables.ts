const text = 'TEXT COLLATE "C"';
const tenantColumn = `tenant_id ${text} NOT NULL DEFAULT current_setting('millrace.tenant')`;

/**
 * SQL that creates the text index of runs, which the leader fills in the background (`text-indexer.ts`).
 *
 * - A row of `run_texts` is a block: some runs of a project, by their places (`run-places.ts`), and the hashes of all
 *   trigrams of their texts. A search reads the runs of the blocks that have all trigrams of its text. One row per run
 *   would make the index larger by a multiple, because most runs of a project have the same trigrams. Its column is not
 *   named `tenant_id`, so that the table has no row-level security: PostgreSQL uses no index for operators of lists
 *   where it has to hide rows, because an operator could reveal a row by an error. A block contains no text, and its
 *   runs are read from `runs`, whose rows are hidden from other tenants.
 * - `text_cursor` is how far the index is: it contains the runs up to this change, in the order of `changed`, the
 *   transaction that wrote a run last, and of `place`. A run that is written again is indexed again, in another block.
 *   Searches read the runs beyond the cursor themselves.
 * - Earlier formats gave some partitions of `runs` policies of their own, which would keep their indexes from being used.
 * - `text_removals` are the places of deleted runs. The blocks that contain them are counted again without them.
 */
export const textTables = `
  CREATE TABLE run_texts (
    owner_id ${text} NOT NULL, project_id ${text} NOT NULL, id BIGINT GENERATED ALWAYS AS IDENTITY,
    first_us BIGINT NOT NULL, last_us BIGINT NOT NULL, places BIGINT[] NOT NULL, grams SMALLINT[] NOT NULL,
    PRIMARY KEY (owner_id, id)
  );
  ALTER TABLE run_texts ALTER COLUMN grams SET STORAGE EXTERNAL;
  CREATE INDEX run_texts_by_gram ON run_texts USING gin (grams);
  CREATE INDEX run_texts_by_place ON run_texts USING gin (places);
  CREATE INDEX run_texts_by_last ON run_texts (project_id, last_us, id);
  CREATE INDEX run_texts_by_first ON run_texts (project_id, first_us, id);
  CREATE INDEX runs_by_change ON runs (changed, place);
  CREATE TABLE text_cursor (one SMALLINT PRIMARY KEY CHECK (one = 1), changed BIGINT NOT NULL, place BIGINT NOT NULL);
  INSERT INTO text_cursor VALUES (1, 0, 0);
  CREATE TABLE text_removals (${tenantColumn}, place BIGINT NOT NULL, PRIMARY KEY (tenant_id, place));
  CREATE FUNCTION remove_texts() RETURNS TRIGGER LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO text_removals (tenant_id, place) SELECT tenant_id, place FROM changed_runs ON CONFLICT DO NOTHING;
      RETURN NULL;
    END $$;
  CREATE TRIGGER texts_deleted AFTER DELETE ON runs REFERENCING OLD TABLE AS changed_runs
    FOR EACH STATEMENT EXECUTE FUNCTION remove_texts();
  CREATE FUNCTION delete_texts() RETURNS TRIGGER LANGUAGE plpgsql AS $$
    BEGIN
      DELETE FROM run_texts WHERE owner_id = OLD.tenant_id AND project_id = OLD.id;
      RETURN NULL;
    END $$;
  CREATE TRIGGER texts_gone AFTER DELETE ON projects FOR EACH ROW EXECUTE FUNCTION delete_texts();
  DO $$
  DECLARE
    name TEXT;
  BEGIN
    FOR name IN SELECT i.inhrelid::regclass::text FROM pg_inherits i WHERE i.inhparent = 'runs'::regclass LOOP
      EXECUTE format('DROP POLICY IF EXISTS own_tenant ON %s', name);
      EXECUTE format('ALTER TABLE %s NO FORCE ROW LEVEL SECURITY', name);
      EXECUTE format('ALTER TABLE %s DISABLE ROW LEVEL SECURITY', name);
    END LOOP;
  END $$;
`;

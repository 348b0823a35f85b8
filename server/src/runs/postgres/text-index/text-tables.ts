const text = 'TEXT COLLATE "C"';
const tenantColumn = `tenant_id ${text} NOT NULL DEFAULT current_setting('millrace.tenant')`;

/**
 * SQL that creates the text index of runs, which the leader fills in the background (`text-indexer.ts`).
 *
 * - A row of `run_texts` is a block: some runs of a project, by their places (`run-places.ts`), and the hashes of all
 *   trigrams of their texts. A search reads the runs of the blocks that have all trigrams of its text. One row per run
 *   would make the index several times as large, because most runs of a project have the same trigrams. The column with
 *   the tenant is not named `tenant_id`, so that the table has no row-level security: where PostgreSQL has to hide
 *   rows, it uses no index for operators on lists, because an error of an operator could reveal a hidden row. A block
 *   contains no text, and its runs are read from `runs`, whose rows are hidden from other tenants.
 * - `text_cursor` is the end of the index, which contains the runs up to this position in the order of `changed`, the
 *   transaction that wrote a run last, and of `place`. A run that is written again is indexed again, in another block.
 *   Searches read the runs beyond the cursor themselves.
 * - Earlier formats gave some partitions of `runs` policies of their own. The SQL drops these policies, which would
 *   prevent the use of the indexes of these partitions.
 * - `text_removals` lists the places of deleted runs. The blocks that contain them are written again without them.
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

/**
 * SQL that locks the index for changes: only one transaction at a time changes blocks, so that none misses a block of
 * another one.
 */
export const textLockSql = "SELECT pg_advisory_xact_lock(hashtext('millrace.texts'))";

/**
 * SQL that removes runs of a removed week from the index. Blocks that contain no other runs are deleted. For each other
 * block, the place of one removed run is added to `text_removals`, so that the indexer rewrites the block.
 *
 * @param range - the rows of the runs, as a subquery
 */
export const forgetTextsSql = (range: string): string => `
  WITH gone AS MATERIALIZED (SELECT c.tenant_id, c.place FROM ${range} c),
    lists AS MATERIALIZED (SELECT g.tenant_id, array_agg(g.place) AS places FROM gone g GROUP BY 1),
    blocks AS MATERIALIZED (SELECT b.owner_id, b.id, b.places FROM lists l
      JOIN run_texts b ON b.owner_id = l.tenant_id AND b.places && l.places),
    kept AS MATERIALIZED (SELECT DISTINCT b.owner_id, b.id FROM blocks b CROSS JOIN LATERAL unnest(b.places) p (place)
      JOIN runs r ON r.place = p.place AND r.tenant_id = b.owner_id
      WHERE NOT EXISTS (SELECT FROM gone g WHERE g.tenant_id = b.owner_id AND g.place = p.place)),
    listed AS (INSERT INTO text_removals (tenant_id, place)
      SELECT b.owner_id, min(g.place) FROM kept k JOIN blocks b ON b.owner_id = k.owner_id AND b.id = k.id
        CROSS JOIN LATERAL unnest(b.places) p (place) JOIN gone g ON g.tenant_id = b.owner_id AND g.place = p.place
      GROUP BY b.owner_id, b.id ON CONFLICT DO NOTHING)
  DELETE FROM run_texts t USING blocks b WHERE t.owner_id = b.owner_id AND t.id = b.id
    AND NOT EXISTS (SELECT FROM kept k WHERE k.owner_id = b.owner_id AND k.id = b.id)`;

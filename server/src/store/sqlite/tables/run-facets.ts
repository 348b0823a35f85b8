import { anyFacet, blockMicros } from "../../facets.ts";

/**
 * Where to look for runs that have a facet: a row for each facet, project and block of time, however
 * many runs of the block have it. Rows may say too much, never too little: what runs had before a patch
 * stays, and runs of before this table, or that move in time or between projects, have any facet.
 */
export const runFacetTables = `
  CREATE TABLE run_facets (
    project_id TEXT NOT NULL, facet TEXT NOT NULL, block INTEGER NOT NULL, PRIMARY KEY (project_id, facet, block)
  ) WITHOUT ROWID;
  INSERT INTO run_facets SELECT DISTINCT project_id, '${anyFacet}', start_us / ${blockMicros} FROM runs;
  CREATE TRIGGER run_facets_moved AFTER UPDATE OF project_id, start_us ON runs
    WHEN OLD.project_id <> NEW.project_id OR OLD.start_us / ${blockMicros} <> NEW.start_us / ${blockMicros}
    BEGIN
      INSERT OR IGNORE INTO run_facets VALUES (NEW.project_id, '${anyFacet}', NEW.start_us / ${blockMicros});
    END;
  CREATE TRIGGER run_facets_gone AFTER DELETE ON projects
    BEGIN
      DELETE FROM run_facets WHERE project_id = OLD.id;
    END;
`;

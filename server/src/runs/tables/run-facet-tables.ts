import { anyFacet, blockMicros } from "../facets.ts";

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

/** SQLite's division goes towards 0, and a block begins with its first microsecond, before 1970 too. */
const blockOf = (row: string): string =>
  `((${row}.start_us - (${row}.start_us < 0) * ${blockMicros - 1}) / ${blockMicros})`;

/**
 * Runs that moved to a time before 1970 are found there, and so are the roots that stand in for spans which
 * have not come: those had no facets.
 */
export const runFacetRepairs = `
  DROP TRIGGER run_facets_moved;
  CREATE TRIGGER run_facets_moved AFTER UPDATE OF project_id, start_us ON runs
    WHEN OLD.project_id <> NEW.project_id OR ${blockOf("OLD")} <> ${blockOf("NEW")}
    BEGIN
      INSERT OR IGNORE INTO run_facets VALUES (NEW.project_id, '${anyFacet}', ${blockOf("NEW")});
    END;
  INSERT OR IGNORE INTO run_facets SELECT DISTINCT r.project_id, '${anyFacet}', ${blockOf("r")}
    FROM projects p JOIN runs r ON r.project_id = p.id AND r.start_us < 0;
  INSERT OR IGNORE INTO run_facets SELECT DISTINCT r.project_id, '${anyFacet}', ${blockOf("r")}
    FROM runs r WHERE r.parent_run_id IS NULL AND r.posted = 0;
`;

import { createFloorDivisionSql } from "../../storage/sqlite/floor-division.ts";
import { threadKeys } from "millrace/model";
import { anyFacet, blockMicros, createPairFacet } from "../facets.ts";

/**
 * SQL that creates the index of facets: a row for each facet, project and block of time, however many runs of the
 * block have the facet. It may contain facets that no run has any more, such as those from before an update, but it
 * contains all facets of all runs. Runs that are older than this table, and runs whose start or project changes, get
 * the wildcard facet, `anyFacet`.
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

/** SQL for the block of time of a row. */
const blockSql = (row: string): string => createFloorDivisionSql(`${row}.start_us`, blockMicros);

/**
 * SQL that adds missing facets of runs whose start was changed to a time before 1970, and of placeholders for missing
 * root spans.
 */
export const runFacetRepairs = `
  DROP TRIGGER run_facets_moved;
  CREATE TRIGGER run_facets_moved AFTER UPDATE OF project_id, start_us ON runs
    WHEN OLD.project_id <> NEW.project_id OR ${blockSql("OLD")} <> ${blockSql("NEW")}
    BEGIN
      INSERT OR IGNORE INTO run_facets VALUES (NEW.project_id, '${anyFacet}', ${blockSql("NEW")});
    END;
  INSERT OR IGNORE INTO run_facets SELECT DISTINCT r.project_id, '${anyFacet}', ${blockSql("r")}
    FROM projects p JOIN runs r ON r.project_id = p.id AND r.start_us < 0;
  INSERT OR IGNORE INTO run_facets SELECT DISTINCT r.project_id, '${anyFacet}', ${blockSql("r")}
    FROM runs r WHERE r.parent_run_id IS NULL AND r.posted = 0;
`;

/** SQL for whether a facet contains the id of a thread. */
export const threadFacetCondition = `(${threadKeys
  .map((key) => createPairFacet(key, "") ?? "")
  .map((prefix) => `facet >= '${prefix}' AND facet < '${toPrefixEnd(prefix)}'`)
  .join(" OR ")})`;

/** Returns the first text after all texts with this prefix. */
function toPrefixEnd(prefix: string): string {
  const lastCharCode = prefix.charCodeAt(prefix.length - 1);
  return prefix.slice(0, -1) + String.fromCharCode(lastCharCode + 1);
}

/** The index of the facets that contain ids of threads, in the order of the list of threads. */
export const threadFacetIndex = "run_facets_of_threads";

/** SQL that creates {@link threadFacetIndex}. A change of `threadKeys` needs a new format that creates it again. */
export const createThreadFacetIndex = `
  CREATE INDEX ${threadFacetIndex} ON run_facets (project_id, block, facet) WHERE ${threadFacetCondition};
`;

import { createFloorDivisionSql } from "../../storage/sqlite/floor-division.ts";
import { anyFacet, blockMicros } from "../facets.ts";
import { countIntervalMicros } from "../run-list.ts";

const blockSql = (row: string): string =>
  createFloorDivisionSql(`${row}.start_us`, countIntervalMicros);
const isRootSql = (row: string): string => `${row}.parent_run_id IS NULL`;

/** SQL that adds a run to the numbers of runs and errors in `run_counts`, or subtracts it. */
const countSql = (row: string, sign: "" | "-"): string =>
  `INSERT INTO run_counts VALUES (${row}.project_id, ${isRootSql(row)}, ${blockSql(row)}, ${sign}1, ${sign}${row}.has_error)
      ON CONFLICT DO UPDATE SET runs = runs + excluded.runs, errors = errors + excluded.errors;`;

const countTriggers = `
  CREATE TRIGGER run_counts_new AFTER INSERT ON runs
    BEGIN
      ${countSql("NEW", "")}
    END;
  CREATE TRIGGER run_counts_changed AFTER UPDATE OF project_id, start_us, has_error, parent_run_id ON runs
    WHEN OLD.project_id <> NEW.project_id OR OLD.start_us <> NEW.start_us OR OLD.has_error <> NEW.has_error
      OR OLD.parent_run_id IS NOT NEW.parent_run_id
    BEGIN
      ${countSql("OLD", "-")}
      ${countSql("NEW", "")}
    END;
`;

const deletedCountTrigger = `
  CREATE TRIGGER run_counts_deleted AFTER DELETE ON runs
    BEGIN
      ${countSql("OLD", "-")}
      DELETE FROM run_counts WHERE project_id = OLD.project_id AND is_root = (${isRootSql("OLD")})
        AND block = ${blockSql("OLD")} AND runs <= 0;
    END;
`;

/**
 * SQL that creates indexes and counts for lists of runs: there is an index each for runs with errors, for open runs,
 * for runs by latency and for feedback by key, and runs are counted by intervals of their start times. Runs that are
 * older than these tables get the wildcard facet; see `run-facet-tables.ts`.
 */
export const runListTables = `
  CREATE INDEX errors_by_start ON runs (project_id, start_us, id) WHERE has_error = 1;
  CREATE INDEX open_by_start ON runs (project_id, start_us, id) WHERE end_us IS NULL AND has_error = 0;
  CREATE INDEX runs_by_latency ON runs (project_id, end_us - start_us, id) WHERE end_us IS NOT NULL;
  CREATE INDEX feedback_by_key ON feedback (tenant_id, key_json, score, run_id) WHERE run_id IS NOT NULL;
  CREATE TABLE run_counts (
    project_id TEXT NOT NULL, is_root INTEGER NOT NULL, block INTEGER NOT NULL, runs INTEGER NOT NULL,
    errors INTEGER NOT NULL, PRIMARY KEY (project_id, is_root, block)
  ) WITHOUT ROWID;
  INSERT INTO run_counts SELECT project_id, ${isRootSql("r")}, ${blockSql("r")}, count(*), total(has_error)
    FROM runs r GROUP BY 1, 2, 3;
  ${countTriggers}
  CREATE TRIGGER run_counts_gone AFTER DELETE ON projects
    BEGIN
      DELETE FROM run_counts WHERE project_id = OLD.id;
    END;
  INSERT OR IGNORE INTO run_facets SELECT DISTINCT project_id, '${anyFacet}', start_us / ${blockMicros} FROM runs;
`;

/**
 * SQL that subtracts runs from the counts when they are deleted one by one, for example by retention rules. The
 * existing counts may include deleted runs, so they are computed again.
 */
export const runCountRepairs = `
  DELETE FROM run_counts;
  INSERT INTO run_counts SELECT project_id, ${isRootSql("r")}, ${blockSql("r")}, count(*), total(has_error)
    FROM runs r GROUP BY 1, 2, 3;
  ${deletedCountTrigger}
`;

/**
 * SQL that moves runs from before 1970 to the intervals in which they began: earlier versions rounded the interval
 * towards zero.
 */
export const earlyCountRepairs = `
  DROP TRIGGER IF EXISTS run_counts_new;
  DROP TRIGGER IF EXISTS run_counts_changed;
  DROP TRIGGER IF EXISTS run_counts_deleted;
  ${countTriggers}
  ${deletedCountTrigger}
  DELETE FROM run_counts
    WHERE project_id IN (SELECT id FROM projects) AND is_root IN (0, 1) AND block <= 0;
  INSERT INTO run_counts SELECT r.project_id, ${isRootSql("r")}, ${blockSql("r")}, count(*), total(r.has_error)
    FROM projects p CROSS JOIN runs r ON r.project_id = p.id AND r.start_us < ${countIntervalMicros}
    GROUP BY 1, 2, 3;
`;

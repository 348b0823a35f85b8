// The place of a run is its position among all runs in the order in which transactions stored them: the number of the
// transaction, followed by a number within it. A sequence would lose runs: a transaction may take a number and commit long
// after others that took later numbers, and a reader that has read up to these would skip its runs.

/** Number of places of one transaction. A batch has fewer operations. */
const placesPerTransaction = 16_384;

/** SQL for the place of the run with a number within this transaction. */
export const createPlaceSql = (number: string): string =>
  `pg_current_xact_id()::text::bigint * ${placesPerTransaction} + ${number}`;

/**
 * SQL for the last place up to which all runs are visible: that of the transactions before the oldest one that is still
 * running.
 */
export const lastPlaceSql = `(pg_snapshot_xmin(pg_current_snapshot())::text::bigint * ${placesPerTransaction} - 1)`;

/**
 * The place before the first run that was copied from another database. Copied runs come before all runs that the database
 * stored itself, so that nothing that reads runs in the order of their arrival takes them for new ones.
 */
export const copiedRunsPlace = -(2 ** 50);

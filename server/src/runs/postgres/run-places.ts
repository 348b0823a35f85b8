// The place of a run is its position among all runs in the order in which transactions stored them: the number of the
// transaction, followed by a number within the transaction. Numbers of a sequence would not do: a transaction may take
// a number and commit long after others with later numbers. A reader that has read up to these numbers would then skip
// its runs.

/** Number of places of one transaction. A batch has fewer operations. */
const placesPerTransaction = 16_384;

/** SQL for the place of the run with a number within this transaction. */
export const createPlaceSql = (number: string): string =>
  `pg_current_xact_id()::text::bigint * ${placesPerTransaction} + ${number}`;

/**
 * SQL for the last place up to which all runs are visible: the last place before the oldest transaction that is still
 * running.
 */
export const lastPlaceSql = `(pg_snapshot_xmin(pg_current_snapshot())::text::bigint * ${placesPerTransaction} - 1)`;

/**
 * The place before the first run that was copied from another database. Copied runs precede all runs that the database
 * stored itself, so that code that reads runs in the order of their arrival does not mistake them for new runs.
 */
export const copiedRunsPlace = -(2 ** 50);

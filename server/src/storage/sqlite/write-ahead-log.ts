import { lockTimeoutMs } from "./connection.ts";
import type { Connection } from "./connection.ts";

/** Milliseconds to wait for readers before the server ends. */
const truncateTimeoutMs = 1_000;

/** Pages after which the write-ahead log should be reused from its beginning: 64 MiB. */
export const logPages = 4_096;

/** Result of writing back a log. */
export interface WriteBackResult {
  /** Number of pages in the log. */
  readonly pages: number;
  /** Whether all of them are in the database. */
  readonly isWhole: boolean;
  /** Whether many are missing, because a query still read an earlier state. */
  readonly isFarBehind?: boolean;
}

/**
 * Writes back what other connections are not using at the moment, without waiting for them. The rest stays in the
 * log.
 */
export function writeBack(db: Connection): WriteBackResult {
  const rows = db.prepare("PRAGMA wal_checkpoint(PASSIVE)").raw().all() as readonly number[][];
  const [, pages = 0, written = 0] = rows[0] ?? [];
  return { pages, isWhole: pages === written, isFarBehind: pages - written > fewPages };
}

/**
 * Calls {@link writeBack} until few pages were added meanwhile. The log can then be reused after a moment between
 * two commits. Returns the last result.
 *
 * A log that was written back completely is left as it is: the next commit reuses it from its beginning.
 */
export function catchUp(write: () => WriteBackResult): WriteBackResult {
  let result = write();
  let previousPages = 0;
  const isBehind = (): boolean =>
    !result.isWhole && result.pages >= logPages && result.pages - previousPages > fewPages;
  for (let attempt = 1; attempt < maxAttempts && isBehind(); attempt += 1) {
    previousPages = result.pages;
    result = write();
  }
  return result;
}

/** Pages of 8 MiB. */
const fewPages = 512;

const maxAttempts = 5;

/**
 * Writes the log back and empties it. If other connections are still reading, does so as far as possible within a
 * second. For a connection that is closed next.
 */
export function checkpointAndTruncate(db: Connection): void {
  db.exec(`PRAGMA busy_timeout = ${truncateTimeoutMs}`);
  db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").raw().all();
}

/**
 * Writes the whole log back and empties it, so that no deleted data stays in it. Waits only briefly for readers.
 * Returns whether it succeeded.
 */
export function eraseLog(db: Connection): boolean {
  db.exec(`PRAGMA busy_timeout = ${eraseTimeoutMs}`);
  try {
    const rows = db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").raw().all() as readonly number[][];
    return rows[0]?.[0] === 0;
  } finally {
    db.exec(`PRAGMA busy_timeout = ${lockTimeoutMs}`);
  }
}

/** Milliseconds that readers may delay the writer while the log is erased. */
const eraseTimeoutMs = 50;

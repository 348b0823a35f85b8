import { lockTimeoutMs } from "./connection.ts";
import type { Connection } from "./connection.ts";

/** Milliseconds that {@link checkpointAndTruncate} waits for readers. */
const truncateTimeoutMs = 1_000;

/** Pages after which the write-ahead log should be reused from its beginning: 64 MiB. */
export const targetLogPages = 4_096;

export interface WriteBackResult {
  /** Number of pages in the write-ahead log. */
  readonly pageCount: number;
  /** Whether all pages of the log were written back to the database. */
  readonly isComplete: boolean;
  /** Whether many pages could not be written back, because a query was still reading an earlier state. */
  readonly isFarBehind?: boolean;
}

/**
 * Writes back the pages of the write-ahead log that no other connection is using at the moment. Does not wait for other
 * connections: the pages that they use stay in the log.
 */
export function writeBack(db: Connection): WriteBackResult {
  const rows = db.prepare("PRAGMA wal_checkpoint(PASSIVE)").raw().all() as readonly number[][];
  const [, pages = 0, writtenPages = 0] = rows[0] ?? [];
  return {
    pageCount: pages,
    isComplete: pages === writtenPages,
    isFarBehind: pages - writtenPages > quickWritePages,
  };
}

/**
 * Calls `write` repeatedly, until only a few pages were added to the write-ahead log during the last call. The
 * remaining pages can then be written back in a moment between two commits. Returns the last result.
 *
 * A log that was written back completely is not truncated: the next commit reuses it from its beginning.
 */
export function writeBackRepeatedly(write: () => WriteBackResult): WriteBackResult {
  let result = write();
  let previousPageCount = 0;
  const isBehind = (): boolean =>
    !result.isComplete &&
    result.pageCount >= targetLogPages &&
    result.pageCount - previousPageCount > quickWritePages;
  for (let attempt = 1; attempt < maxAttempts && isBehind(); attempt += 1) {
    previousPageCount = result.pageCount;
    result = write();
  }
  return result;
}

/** Number of pages that can be written back quickly: 8 MiB, because a page of these databases has 16 KiB. */
const quickWritePages = 512;

const maxAttempts = 5;

/**
 * Writes the write-ahead log back and empties it. Waits up to a second for connections that still read. Call it
 * before closing a connection.
 */
export function checkpointAndTruncate(db: Connection): void {
  db.exec(`PRAGMA busy_timeout = ${truncateTimeoutMs}`);
  db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").raw().all();
}

/**
 * Writes the whole write-ahead log back and empties it, so that no deleted data stays in it. Waits only briefly for
 * connections that still read. Returns whether it succeeded.
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

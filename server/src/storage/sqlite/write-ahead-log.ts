import { lockTimeoutMs } from "./connection.ts";
import type { Connection } from "./connection.ts";

/** The same where what waits is the end of the server. */
const foldMs = 1_000;

/** Pages that the write-ahead log holds before it begins anew: 64 MiB. */
export const logPages = 4_096;

/** How far a log was written back. */
export interface WrittenBack {
  /** That the log holds. */
  readonly pages: number;
  /** Whether each of them is in the database. */
  readonly isWhole: boolean;
  /** Whether many are not: somebody read what was before them. */
  readonly isFarBehind?: boolean;
}

/**
 * Writes back what of the log no one reads or writes just now, and waits for no one. What can't be written
 * back stays in it.
 */
export function writeBack(db: Connection): WrittenBack {
  const rows = db.prepare("PRAGMA wal_checkpoint(PASSIVE)").raw().all() as readonly number[][];
  const [, pages = 0, written = 0] = rows[0] ?? [];
  return { pages, isWhole: pages === written, isFarBehind: pages - written > fewPages };
}

/**
 * Calls {@link writeBack} until little comes meanwhile: the log then needs but a moment between two commits
 * to begin anew. Gives how far it came.
 *
 * A log that is written back as a whole is left alone: the next commit begins it anew.
 */
export function catchUp(write: () => WrittenBack): WrittenBack {
  let last = write();
  let before = 0;
  const isBehind = (): boolean =>
    !last.isWhole && last.pages >= logPages && last.pages - before > fewPages;
  for (let turn = 1; turn < turnsMax && isBehind(); turn += 1) {
    before = last.pages;
    last = write();
  }
  return last;
}

/** 8 MiB. */
const fewPages = 512;

const turnsMax = 5;

/**
 * Folds the log into the database and empties it; where somebody else still reads, as far as that lets it
 * within a second. For a connection that is closed next.
 */
export function foldLog(db: Connection): void {
  db.exec(`PRAGMA busy_timeout = ${foldMs}`);
  db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").raw().all();
}

/**
 * Writes the whole log back and empties it, so that nothing that was deleted stays in it. Waits only briefly for readers;
 * returns whether it succeeded.
 */
export function eraseLog(db: Connection): boolean {
  db.exec(`PRAGMA busy_timeout = ${eraseMs}`);
  try {
    const rows = db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").raw().all() as readonly number[][];
    return rows[0]?.[0] === 0;
  } finally {
    db.exec(`PRAGMA busy_timeout = ${lockTimeoutMs}`);
  }
}

/** Milliseconds that a reader may hold up the writer while the log is erased. */
const eraseMs = 50;

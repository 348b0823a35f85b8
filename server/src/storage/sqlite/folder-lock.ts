import { join } from "node:path";
import { messageOf, ServerError } from "../../model/errors.ts";
import { openDatabase } from "./connection.ts";

/** The lock on a data folder, which belongs to one server. */
export interface FolderLock {
  release(): void;
}

const lockFileName = "millrace.lock";
/** Milliseconds to wait for another server that is about to release the lock. */
const lockWaitMs = 250;

/**
 * Locks a folder. SQLite locks an empty database next to the real one with the operating system's file locks, so the
 * lock ends whenever the process ends. A file that contains a process id would remain after a crash.
 */
export function lockFolder(folder: string): FolderLock {
  const path = join(folder, lockFileName);
  try {
    const db = openDatabase(path, lockWaitMs);
    // Without a journal file nothing is written, so a full disk does not prevent locking.
    db.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    return { release: () => db.close() };
  } catch (cause) {
    const reason = messageOf(cause);
    throw /locked|busy/i.test(reason)
      ? new ServerError(
          "DATA_DIR_IN_USE",
          `${folder} is in use by another millrace server: stop it, or choose another data folder`,
          { cause },
        )
      : new ServerError("DATA_DIR", `Failed to lock ${path}: ${reason}`, { cause });
  }
}

import { join } from "node:path";
import { messageOf, ServerError } from "../../model/errors.ts";
import { openDatabase } from "./connection.ts";

/** Holds a data folder for one server. */
export interface FolderLock {
  release(): void;
}

const lockFile = "millrace.lock";
const waitMs = 250;

/**
 * Takes a folder. The lock is the operating system's, on an empty database beside the real one: it
 * ends with the process however that ends, which a file with a process number does not.
 *
 * @throws ServerError another server has it.
 */
export function lockFolder(folder: string): FolderLock {
  const path = join(folder, lockFile);
  try {
    const db = openDatabase(path, waitMs);
    // Without a journal nothing is written, and a full disk keeps nobody from it.
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

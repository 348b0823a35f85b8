import process from "node:process";
import { messageOf } from "./model/errors.ts";
import { openReader } from "./storage/sqlite/open-database.ts";

// The program of a child process that checks the whole database after a server ended without closing it.

/** Returns a description of the first inconsistency in the database; `undefined` if there is none. */
function findInconsistency(path: string): string | undefined {
  try {
    const db = openReader(path);
    const [[result] = []] = db.prepare("PRAGMA quick_check(1)").raw().all() as readonly unknown[][];
    db.close();
    return result === "ok" ? undefined : String(result);
  } catch (cause) {
    return messageOf(cause);
  }
}

const fault = findInconsistency(process.argv[2] ?? "");
if (fault !== undefined) {
  process.send?.(fault);
}
// The IPC channel to the server would keep the process alive.
process.disconnect?.();

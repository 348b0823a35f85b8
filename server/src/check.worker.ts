import process from "node:process";
import { messageOf } from "./model/errors.ts";
import { openReader } from "./storage/sqlite/open-database.ts";

// Reads the whole database once after a server that did not close it, in a process of its own.

/** What is wrong with it; `undefined` where nothing is. */
function findFault(path: string): string | undefined {
  try {
    const db = openReader(path);
    const [[found] = []] = db.prepare("PRAGMA quick_check(1)").raw().all() as readonly unknown[][];
    db.close();
    return found === "ok" ? undefined : String(found);
  } catch (cause) {
    return messageOf(cause);
  }
}

const fault = findFault(process.argv[2] ?? "");
if (fault !== undefined) {
  process.send?.(fault);
}
// The channel to the server would keep the process.
process.disconnect?.();

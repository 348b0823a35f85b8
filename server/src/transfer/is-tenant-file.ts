import { closeSync, existsSync, openSync, readSync } from "node:fs";
import { isCompressed } from "./tenant-file.ts";

/** Whether a file is a backup of one tenant, and not a copy of a database. */
export function isTenantFile(file: string): boolean {
  if (!existsSync(file)) {
    return false;
  }
  const start = Buffer.alloc(2);
  const descriptor = openSync(file, "r");
  readSync(descriptor, start, 0, start.length, 0);
  closeSync(descriptor);
  return isCompressed(start);
}

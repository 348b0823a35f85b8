import { closeSync, fsyncSync, openSync } from "node:fs";
import process from "node:process";

/** Permissions of files that only their owner may read. */
export const ownerOnly = 0o600;

/** Makes sure that the content of a file is on the disk. */
export function syncFile(file: string): void {
  const descriptor = openSync(file, "r+");
  fsyncSync(descriptor);
  closeSync(descriptor);
}

/**
 * Makes sure that the names in a folder are on the disk. On Windows a folder can't be opened, and need not be synced.
 */
export function syncFolder(folder: string): void {
  if (process.platform !== "win32") {
    const descriptor = openSync(folder, "r");
    fsyncSync(descriptor);
    closeSync(descriptor);
  }
}

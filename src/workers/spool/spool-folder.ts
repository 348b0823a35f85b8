import { lstatSync, mkdirSync, statSync } from "node:fs";
import type { Stats } from "node:fs";

/** Only the owner may read: a spooled run is as private as the run. */
export const folderMode = 0o700;

const writableByAll = 0o002;

/** A folder that others can write to, or have made: what is in it may be theirs, and what we put there is for them to read. */
export class UnsafeFolder extends Error {
  constructor(folder: string, problem: string) {
    super(
      `${folder} ${problem}. Nothing is written there or sent from there. Use a folder of this user's own as spoolDir, such as one that does not exist yet: it is made so that only this user can read it`,
    );
  }
}

/**
 * Makes a spool's folder where it is missing.
 *
 * @throws UnsafeFolder it belongs to another user, or every user can write to it.
 * @throws the file system's error.
 */
export function openFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: folderMode });
  const stat = statSync(folder);
  if (!isOurs(stat)) {
    throw new UnsafeFolder(
      folder,
      `belongs to another user (uid ${stat.uid}): name a folder of your own as spoolDir`,
    );
  }
  if (canCheck() && (stat.mode & writableByAll) !== 0) {
    throw new UnsafeFolder(
      folder,
      "can be written to by every user: take that right away (chmod o-w), or name another folder as spoolDir",
    );
  }
}

/** Whether it is a folder of this user's own, and no link to one. @throws the file system's error. */
export function isOwnFolder(path: string): boolean {
  const stat = lstatSync(path);
  return stat.isDirectory() && isOurs(stat);
}

/** Whether it is a file of this user's own, and no link to one. @throws the file system's error. */
export function isOwnFile(path: string): boolean {
  const stat = lstatSync(path);
  return stat.isFile() && isOurs(stat);
}

const isOurs = ({ uid }: Stats): boolean => !canCheck() || uid === process.getuid?.();

/** Windows has no such owners and modes; its folders of a user are closed to others. */
const canCheck = (): boolean => process.getuid !== undefined;

import { lstatSync, mkdirSync, statSync } from "node:fs";
import type { Stats } from "node:fs";

/** The mode of the spool's folders. Only the owner has access, because recorded runs can contain private data. */
export const folderMode = 0o700;

const otherUsersWriteBit = 0o002;

/**
 * The folder belongs to another user, or every user can write to it. Its files may come from
 * another user, who could also read what is written there.
 */
export class UnsafeFolder extends Error {
  constructor(folder: string, problem: string) {
    super(
      `${folder} ${problem}. Nothing is written there or sent from there. Set spoolDir to a folder that belongs to this user, or to one that does not exist yet: it is created so that only this user can read it`,
    );
  }
}

/**
 * Creates a spool's folder if it is missing.
 *
 * @throws UnsafeFolder if it belongs to another user, or every user can write to it.
 * @throws the file system's error.
 */
export function openFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: folderMode });
  const stat = statSync(folder);
  if (!isOwnedByUser(stat)) {
    throw new UnsafeFolder(folder, `belongs to another user (uid ${stat.uid})`);
  }
  if (hasOwners() && (stat.mode & otherUsersWriteBit) !== 0) {
    throw new UnsafeFolder(
      folder,
      "is writable by every user: remove that permission (chmod o-w), or set another folder as spoolDir",
    );
  }
}

/**
 * Whether the path is a folder that belongs to this user, and not a link.
 *
 * @throws the file system's error.
 */
export function isOwnFolder(path: string): boolean {
  const stat = lstatSync(path);
  return stat.isDirectory() && isOwnedByUser(stat);
}

/**
 * Whether the path is a file that belongs to this user, and not a link.
 *
 * @throws the file system's error.
 */
export function isOwnFile(path: string): boolean {
  const stat = lstatSync(path);
  return stat.isFile() && isOwnedByUser(stat);
}

const isOwnedByUser = ({ uid }: Stats): boolean => !hasOwners() || uid === process.getuid?.();

/**
 * Whether files have a numeric owner and a mode. On Windows they do not, but there a user's folders are closed to other
 * users by default.
 */
const hasOwners = (): boolean => process.getuid !== undefined;

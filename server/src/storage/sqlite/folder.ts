import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  statSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import { messageOf, ServerError } from "../../model/errors.ts";

/** Bits of a file's mode with the permissions of everyone except its owner. */
const othersPermissions = 0o077;

/**
 * Creates a missing data folder with access for its owner only, and returns its path. If others can read an
 * existing folder that contains only files of the server, its permissions are restricted, with a warning.
 *
 * @throws ServerError the folder can't be created or written.
 */
export function prepareFolder(folder: string): string {
  const path = resolve(folder);
  try {
    makeFolder(path);
    if (!statSync(path).isDirectory()) {
      throw new Error("it is not a folder");
    }
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
    restrictFolder(path);
    return path;
  } catch (cause) {
    throw new ServerError("DATA_DIR", `Failed to use ${path} as data folder: ${messageOf(cause)}`, {
      cause,
    });
  }
}

/**
 * Creates one folder at a time: Node's recursive mode never returns if a parent exists in which no folder can be
 * created.
 */
function makeFolder(path: string): void {
  if (existsSync(path)) {
    return;
  }
  makeFolder(dirname(path));
  mkdirSync(path, { mode: 0o700 });
}

/**
 * Restricts the server's files in a data folder to their owner, regardless of the umask. SQLite gives its log the
 * same permissions as the database.
 */
export function restrictFiles(path: string): void {
  if (isWindows) {
    return;
  }
  for (const name of readdirSync(path).filter((entry) => serverFilePattern.test(entry))) {
    restrictFile(join(path, name));
  }
}

/** Names of the server's files: the database and the files next to it, uploads in progress, and the token keys. */
const serverFilePattern = /^(?:millrace\.|upload-|token\.key)/;
const isWindows = process.platform === "win32";

function restrictFolder(path: string): void {
  const permissions = statSync(path).mode & 0o777;
  if (isWindows || (permissions & othersPermissions) === 0) {
    return;
  }
  const names = readdirSync(path);
  const otherFile = names.find((name) => !serverFilePattern.test(name));
  // If the folder also contains files of other programs, as a home folder does, its permissions are not changed.
  if (otherFile === undefined) {
    chmodSync(path, 0o700);
  }
  // An empty folder contained nothing that others could have read, so there is no warning.
  if (names.length > 0) {
    const mode = permissions.toString(8);
    process.emitWarning(
      otherFile === undefined
        ? `the data folder ${path} could be read by other users of this machine (mode ${mode}); its mode is 700 now`
        : `the data folder ${path} can be listed by other users of this machine (mode ${mode}) and contains ${JSON.stringify(otherFile)} besides the server's files, so its mode was not changed: use a folder of its own for the server`,
    );
  }
}

function restrictFile(path: string): void {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
  if ((mode & othersPermissions) !== 0) {
    chmodSync(path, mode & 0o700);
  }
}

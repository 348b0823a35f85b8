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

/** Permissions of other users of the machine. */
const othersRights = 0o077;

/**
 * Makes a data folder when it is missing, for its owner alone; answers its path. One that others may read is
 * narrowed, with a warning, where it holds nothing but what is ours.
 *
 * @throws ServerError it can't be made, or not be written.
 */
export function prepareFolder(folder: string): string {
  const path = resolve(folder);
  try {
    makeFolder(path);
    if (!statSync(path).isDirectory()) {
      throw new Error("it is not a folder");
    }
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
    narrowFolder(path);
    return path;
  } catch (cause) {
    throw new ServerError("DATA_DIR", `Failed to use ${path} as data folder: ${messageOf(cause)}`, {
      cause,
    });
  }
}

/** Step by step: Node's own recursive form never returns where a parent exists and takes no folder. */
function makeFolder(path: string): void {
  if (existsSync(path)) {
    return;
  }
  makeFolder(dirname(path));
  mkdirSync(path, { mode: 0o700 });
}

/** The files of the server in a data folder are their owner's alone, whatever the umask; SQLite gives its log the database's rights. */
export function narrowFiles(path: string): void {
  if (isWindows) {
    return;
  }
  for (const name of readdirSync(path).filter((one) => ownFile.test(one))) {
    narrowFile(join(path, name));
  }
}

/** Files beside the database; those of uploads under way; the key of the tokens. */
const ownFile = /^(?:millrace\.|upload-|token\.key)/;
const isWindows = process.platform === "win32";

function narrowFolder(path: string): void {
  const rights = statSync(path).mode & 0o777;
  if (isWindows || (rights & othersRights) === 0) {
    return;
  }
  const names = readdirSync(path);
  const others = names.find((name) => !ownFile.test(name));
  // A folder of someone else's files, such as a home or a temporary folder, stays as it is.
  if (others === undefined) {
    chmodSync(path, 0o700);
  }
  // A folder that was made for this server holds nothing yet that could have been read.
  if (names.length > 0) {
    const mode = rights.toString(8);
    process.emitWarning(
      others === undefined
        ? `the data folder ${path} could be read by other users of this machine (mode ${mode}); it is 700 now`
        : `the data folder ${path} can be listed by other users of this machine (mode ${mode}) and holds ${JSON.stringify(others)} beside the server's files, so it stays as it is: give the server a folder of its own`,
    );
  }
}

function narrowFile(path: string): void {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
  if ((mode & othersRights) !== 0) {
    chmodSync(path, mode & 0o700);
  }
}

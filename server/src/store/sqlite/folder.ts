import { accessSync, constants, existsSync, mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { messageOf, ServerError } from "../../errors.ts";

/**
 * Makes a data folder when it is missing; answers its path.
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
  mkdirSync(path);
}

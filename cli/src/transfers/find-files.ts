import { stat } from "node:fs/promises";
import { isAbsolute } from "node:path";
import { glob, isDynamicPattern } from "tinyglobby";
import { standardInput } from "../rows/byte-source.ts";
import { UsageError } from "../usage-error.ts";

/**
 * Finds the files that the arguments name, without duplicates. An argument is a path, a glob pattern, or `-`.
 *
 * @throws {@link UsageError} if an argument matches no file.
 */
export async function findFiles(fileArguments: readonly string[]): Promise<readonly string[]> {
  const paths: string[] = [];
  for (const name of fileArguments) {
    paths.push(...(await expandFileArgument(name)));
  }
  return [...new Set(paths)];
}

async function expandFileArgument(fileArgument: string): Promise<readonly string[]> {
  if (fileArgument === standardInput || (await isFile(fileArgument))) {
    return [fileArgument];
  }
  const matchedPaths = isDynamicPattern(fileArgument)
    ? await glob(fileArgument, { expandDirectories: false, absolute: isAbsolute(fileArgument) })
    : [];
  if (matchedPaths.length === 0) {
    throw new UsageError(`there is no file ${fileArgument}`);
  }
  return matchedPaths.toSorted();
}

async function isFile(path: string): Promise<boolean> {
  try {
    return !(await stat(path)).isDirectory();
  } catch {
    // The path does not exist. The caller checks whether it is a glob pattern.
    return false;
  }
}

/** Whether an error means that a file does not exist. Callers treat that as a normal case. */
export const isFileMissing = (cause: unknown): boolean =>
  cause instanceof Error && "code" in cause && cause.code === "ENOENT";

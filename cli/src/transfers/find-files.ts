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
export async function findFiles(names: readonly string[]): Promise<readonly string[]> {
  const found: string[] = [];
  for (const name of names) {
    found.push(...(await expandName(name)));
  }
  return [...new Set(found)];
}

async function expandName(name: string): Promise<readonly string[]> {
  if (name === standardInput || (await isFile(name))) {
    return [name];
  }
  const files = isDynamicPattern(name)
    ? await glob(name, { expandDirectories: false, absolute: isAbsolute(name) })
    : [];
  if (files.length === 0) {
    throw new UsageError(`there is no file ${name}`);
  }
  return files.toSorted();
}

async function isFile(path: string): Promise<boolean> {
  try {
    return !(await stat(path)).isDirectory();
  } catch {
    // A glob pattern, or a file that does not exist; the caller distinguishes them.
    return false;
  }
}

/** Whether an error means that a file does not exist. Callers treat that as a normal case. */
export const isFileMissing = (cause: unknown): boolean =>
  cause instanceof Error && "code" in cause && cause.code === "ENOENT";

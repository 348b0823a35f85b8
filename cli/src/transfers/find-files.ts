import { stat } from "node:fs/promises";
import { isAbsolute } from "node:path";
import { glob, isDynamicPattern } from "tinyglobby";
import { standardInput } from "../rows/byte-source.ts";
import { UsageError } from "../usage-error.ts";

/** The files that arguments name: paths, patterns and `-`; each once. @throws {@link UsageError} one names none. */
export async function findFiles(names: readonly string[]): Promise<readonly string[]> {
  const found: string[] = [];
  for (const name of names) {
    found.push(...(await filesOf(name)));
  }
  return [...new Set(found)];
}

async function filesOf(name: string): Promise<readonly string[]> {
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
    // A pattern, or nothing: who asks tells which.
    return false;
  }
}

/** Whether a file is not there, which is no failure to whoever asks. */
export const isFileMissing = (cause: unknown): boolean =>
  cause instanceof Error && "code" in cause && cause.code === "ENOENT";

import { stat } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
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
  const kind = fileArgument === standardInput ? "file" : await readKind(fileArgument);
  if (kind === "file") {
    return [fileArgument];
  }
  if (kind === "folder") {
    throw new UsageError(
      `${fileArgument} is a folder: pass its files, such as '${join(fileArgument, "*.jsonl")}'`,
    );
  }
  const matchedPaths = isDynamicPattern(fileArgument)
    ? await glob(fileArgument, { expandDirectories: false, absolute: isAbsolute(fileArgument) })
    : [];
  if (matchedPaths.length === 0) {
    throw new UsageError(`there is no file ${fileArgument}`);
  }
  return matchedPaths.toSorted();
}

/** Returns `undefined` if nothing has this path, which may then be a glob pattern. */
async function readKind(path: string): Promise<"file" | "folder" | undefined> {
  try {
    return (await stat(path)).isDirectory() ? "folder" : "file";
  } catch {
    return undefined;
  }
}

/** Whether an error means that a file does not exist. Callers treat that as a normal case. */
export const isFileMissing = (cause: unknown): boolean =>
  cause instanceof Error && "code" in cause && cause.code === "ENOENT";

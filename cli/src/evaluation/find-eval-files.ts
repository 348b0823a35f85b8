import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { glob, isDynamicPattern } from "tinyglobby";
import { UsageError } from "../usage-error.ts";

const evalPattern = "**/*.eval.{ts,mts,cts,js,mjs,cjs}";

/**
 * Finds the files that the arguments name, without duplicates and as absolute paths. An argument is a path, a glob
 * pattern or a folder. In a folder, all files `*.eval.ts`, `*.eval.js` and so on are found. Without arguments, the
 * working directory is searched.
 *
 * @throws {@link UsageError} if an argument matches no file.
 */
export async function findEvalFiles(fileArguments: readonly string[]): Promise<readonly string[]> {
  const paths: string[] = [];
  for (const name of fileArguments.length === 0 ? ["."] : fileArguments) {
    paths.push(...(await expand(name)));
  }
  return [...new Set(paths.map((path) => resolve(path)))];
}

async function expand(name: string): Promise<readonly string[]> {
  const kind = await findKind(name);
  if (kind === "file") {
    return [name];
  }
  const pattern = kind === "folder" ? evalPattern : name;
  const paths =
    kind === "folder" || isDynamicPattern(name)
      ? await glob(pattern, {
          ...(kind === "folder" ? { cwd: name } : {}),
          absolute: true,
          expandDirectories: false,
          ignore: ["**/node_modules/**"],
        })
      : [];
  if (paths.length === 0) {
    throw new UsageError(
      kind === "folder"
        ? `there is no file *.eval.ts or *.eval.js in ${name === "." ? "this folder" : name}`
        : `there is no file ${name}`,
    );
  }
  return paths.toSorted();
}

async function findKind(path: string): Promise<"file" | "folder" | "none"> {
  try {
    return (await stat(path)).isDirectory() ? "folder" : "file";
  } catch {
    // The path does not exist. It may be a glob pattern.
    return "none";
  }
}

import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Path of the running file, defined only in CommonJS, to which a bundler may convert this code. */
declare const __filename: string | undefined;

/** Possible names of a bundled worker's file, which is next to the bundle (docs/bundlers.md). */
const bundledWorkerNames = ["millrace-worker.js", "millrace-worker.cjs", "millrace-worker.mjs"];

/**
 * Finds the file of the worker: in the package or, if this code was bundled, next to the bundle.
 *
 * @throws Error if the file is in neither location.
 */
export function findWorkerFile(): string {
  const files = findRunningFiles();
  for (const file of files) {
    const workerFile = resolveFromPackage(file);
    if (workerFile !== undefined) {
      return workerFile;
    }
  }
  const candidates = files.flatMap((file) =>
    bundledWorkerNames.map((name) => join(dirname(file), name)),
  );
  const bundled = candidates.find(existsSync);
  if (bundled === undefined) {
    throw new Error(
      "No worker file found: neither the package's ship.task nor, next to the bundle, millrace-worker.js. Add the worker file to your bundle, see docs/bundlers.md",
    );
  }
  return bundled;
}

function resolveFromPackage(runningFile: string): string | undefined {
  try {
    // Do not import the file statically: bundlers would follow the import and replace the path.
    const { createRequire } = process.getBuiltinModule("node:module");
    const workerFile = createRequire(runningFile).resolve("#workers/host/ship.task");
    return existsSync(workerFile) ? workerFile : undefined;
  } catch {
    // This code was bundled and is no longer inside the package.
    return undefined;
  }
}

/**
 * Files that this code may run from. In a bundle `import.meta.url` may be the path of the source
 * file, or undefined if the bundle is CommonJS.
 */
function findRunningFiles(): readonly string[] {
  const url: unknown = import.meta.url;
  return [
    ...(typeof url === "string" ? [fileURLToPath(url)] : []),
    ...(typeof __filename === "string" ? [__filename] : []),
  ];
}

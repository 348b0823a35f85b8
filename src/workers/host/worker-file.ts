import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** What CommonJS, which a bundler may make, calls the file that runs. */
declare const __filename: string | undefined;

/** Names that a bundled worker's file can have beside the bundle (docs/bundlers.md). */
const bundledNames = ["millrace-worker.js", "millrace-worker.cjs", "millrace-worker.mjs"];

/**
 * The file of the worker: the package's own, else, in a bundle, the one beside it.
 *
 * @throws Error the file is in neither place.
 */
export function findWorkerFile(): string {
  const files = theseFiles();
  for (const file of files) {
    const own = resolveOwn(file);
    if (own !== undefined) {
      return own;
    }
  }
  const places = files.flatMap((file) => bundledNames.map((name) => join(dirname(file), name)));
  const bundled = places.find(existsSync);
  if (bundled === undefined) {
    throw new Error(
      "there is no worker file: neither the package's ship.task nor, beside a bundle, millrace-worker.js",
    );
  }
  return bundled;
}

function resolveOwn(from: string): string | undefined {
  try {
    // Not imported: bundlers read such imports, and put something else in their place.
    const { createRequire } = process.getBuiltinModule("node:module");
    const own = createRequire(from).resolve("#workers/host/ship.task");
    return existsSync(own) ? own : undefined;
  } catch {
    // Bundled: this code is no longer in the package.
    return undefined;
  }
}

/** Where this code runs from. A bundle may say where its source was, or, being CommonJS, not have the first. */
function theseFiles(): readonly string[] {
  const url: unknown = import.meta.url;
  return [
    ...(typeof url === "string" ? [fileURLToPath(url)] : []),
    ...(typeof __filename === "string" ? [__filename] : []),
  ];
}

import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { UsageError } from "../usage-error.ts";

/** Flag of those releases of Node that can remove types, but do so only if they are asked to. */
const typeFlag = "--experimental-strip-types";

/** What this Node can do. */
export interface NodeAbilities {
  readonly version: string;
  /** Whether it runs TypeScript by itself. */
  readonly stripsTypes: boolean;
  /** Whether it does so with a flag. */
  readonly hasTypeFlag: boolean;
}

const thisNode = (): NodeAbilities => {
  const features: object = process.features;
  return {
    version: process.version,
    stripsTypes: "typescript" in features && Boolean(features.typescript),
    hasTypeFlag: process.allowedNodeEnvironmentFlags.has(typeFlag),
  };
};

/**
 * Returns the options of Node with which it runs a file: with tsx, wherever it is installed, else by itself.
 *
 * @throws {@link UsageError} if it is TypeScript, and nothing can run it; the message says what to install.
 */
export function chooseNodeOptions(
  file: string,
  findTsx: (file: string) => string | undefined = findInstalledTsx,
  node: NodeAbilities = thisNode(),
): readonly string[] {
  const tsx = findTsx(file);
  if (tsx !== undefined) {
    return ["--import", pathToFileURL(tsx).href];
  }
  if (!/\.[cm]?ts$/.test(file) || node.stripsTypes) {
    return [];
  }
  if (node.hasTypeFlag) {
    return [typeFlag];
  }
  throw new UsageError(
    `${file} is TypeScript, which Node ${node.version} does not run by itself; install tsx with "npm install --save-dev tsx", or use Node 22.18 or newer`,
  );
}

/** Finds tsx: for the file, for the working directory, for this command, or among the global packages of Node. */
function findInstalledTsx(file: string): string | undefined {
  const origins = [
    file,
    join(process.cwd(), "package.json"),
    import.meta.url,
    join(dirname(process.execPath), "../lib/package.json"),
  ];
  for (const origin of origins) {
    try {
      return createRequire(origin).resolve("tsx");
    } catch {
      // It is not installed there.
    }
  }
  return undefined;
}

import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { UsageError } from "../usage-error.ts";

/** Flag with which some releases of Node remove types. Newer ones do so by default. */
const typeFlag = "--experimental-strip-types";

/** How a release of Node can run TypeScript. */
export interface NodeAbilities {
  readonly version: string;
  /** Whether it runs TypeScript without a flag. */
  readonly stripsTypes: boolean;
  /** Whether it runs TypeScript with {@link typeFlag}. */
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
 * Returns the options with which Node runs a file: those that load tsx if it is installed, otherwise those with which Node
 * removes the types itself.
 *
 * @throws {@link UsageError} if the file is TypeScript and nothing can run it; the message contains what to install.
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

/** Finds tsx beside the file, in the working directory, beside this command, or among the global packages of Node. */
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

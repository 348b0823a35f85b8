import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { UsageError } from "../usage-error.ts";

/** Flag with which some releases of Node run TypeScript by removing types. Newer releases do so by default. */
const typeFlag = "--experimental-strip-types";

/** Describes how a release of Node can run TypeScript. */
export interface NodeAbilities {
  readonly version: string;
  /** Whether it runs TypeScript without a flag. */
  readonly stripsTypes: boolean;
  /** Whether it runs TypeScript with {@link typeFlag}. */
  readonly hasTypeFlag: boolean;
}

const readNodeAbilities = (): NodeAbilities => {
  const features: object = process.features;
  return {
    version: process.version,
    stripsTypes: "typescript" in features && Boolean(features.typescript),
    hasTypeFlag: process.allowedNodeEnvironmentFlags.has(typeFlag),
  };
};

/**
 * Returns the options that Node needs to run a file: those that load tsx if it is installed, otherwise the flag that
 * makes Node itself remove the types, if this release needs one.
 *
 * @throws {@link UsageError} if the file is TypeScript and nothing can run it; the message contains what to install.
 */
export function chooseNodeOptions(
  file: string,
  findTsx: (file: string) => string | undefined = findInstalledTsx,
  node: NodeAbilities = readNodeAbilities(),
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

/**
 * Finds tsx among the packages of the file's folder, of the working directory or of this command, or among Node's
 * global packages.
 */
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
      // The package tsx is not installed there.
    }
  }
  return undefined;
}

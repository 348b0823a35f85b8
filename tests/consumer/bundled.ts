import { execFile } from "node:child_process";
import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { installPacked, repositoryRoot } from "./installed.ts";
import type { Installed } from "./installed.ts";

const run = promisify(execFile);

/** A folder with the packed SDK and the bundlers, or the reason why they can't be installed. */
export type Bundlers =
  | { readonly kind: "installed"; readonly installed: Installed }
  | { readonly kind: "unreachable"; readonly reason: string };

/**
 * Installs the bundlers from their own lock file, and the packed SDK next to them with real copies of its
 * dependencies. Bundlers follow links, and would then search for packages in the wrong folder.
 */
export async function installBundlers(): Promise<Bundlers> {
  const installed = await installPacked();
  const { folder, packageFolder } = installed;
  await cp(join(repositoryRoot, "tests/consumer/bundlers"), folder, { recursive: true });
  await rm(join(folder, "node_modules.own"), { recursive: true, force: true });
  await run("mv", [join(folder, "node_modules"), join(folder, "node_modules.own")]);
  try {
    await run("npm", ["ci", "--no-audit", "--no-fund"], { cwd: folder, timeout: 300_000 });
  } catch (error) {
    await installed.remove();
    return { kind: "unreachable", reason: String(error).slice(0, 500) };
  }
  await run("mv", [join(folder, "node_modules.own", "millrace"), packageFolder]);
  await Promise.all((await dependenciesOf(installed)).map((name) => copyModule(folder, name)));
  return { kind: "installed", installed };
}

const copyModule = (folder: string, name: string): Promise<void> =>
  cp(join(repositoryRoot, "node_modules", name), join(folder, "node_modules", name), {
    recursive: true,
    dereference: true,
    force: false,
  });

/** The SDK's dependencies and their dependencies, in the versions of the root's lock file. */
async function dependenciesOf({ dependencies }: Installed): Promise<readonly string[]> {
  const found = new Set<string>();
  const visit = async (name: string): Promise<void> => {
    if (found.has(name)) {
      return;
    }
    found.add(name);
    const path = join(repositoryRoot, "node_modules", name, "package.json");
    const { default: manifest } = (await import(path, { with: { type: "json" } })) as {
      readonly default: { readonly dependencies?: Readonly<Record<string, string>> };
    };
    await Promise.all(Object.keys(manifest.dependencies ?? {}).map(visit));
  };
  await Promise.all(dependencies.map(visit));
  return [...found];
}

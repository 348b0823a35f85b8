import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { inject } from "vitest";

const run = promisify(execFile);

export const repositoryRoot = fileURLToPath(new URL("../..", import.meta.url));

/** A folder outside the repository in which `millrace` is installed from its packed tarball. */
export interface Installed {
  readonly folder: string;
  readonly packageFolder: string;
  /** The dependencies in its package.json. */
  readonly dependencies: readonly string[];
  /** The libraries in its package.json that it works with, and that it does not install. */
  readonly peerDependencies: readonly string[];
  link(name: string): Promise<void>;
  remove(): Promise<void>;
}

/**
 * Unpacks the packed SDK next to links to its dependencies. The result is the same as of `npm install millrace`, but
 * without a registry.
 */
export async function installPacked(): Promise<Installed> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-consumer-"));
  const packageFolder = join(folder, "node_modules", "millrace");
  await mkdir(packageFolder, { recursive: true });
  const packed = inject("packedPackages");
  const { dependencies, peerDependencies } = parseManifest(
    await readFile(join(repositoryRoot, "package.json"), "utf8"),
  );
  const tarball = join(packed.folder, packed.packages[0].filename);
  await run("tar", ["-xzf", tarball, "-C", packageFolder, "--strip-components=1"]);
  const link = (name: string): Promise<void> => linkModule(folder, name);
  await Promise.all(dependencies.map(link));
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  return { folder, packageFolder, dependencies, peerDependencies, link, remove };
}

async function linkModule(folder: string, name: string): Promise<void> {
  const path = join(folder, "node_modules", name);
  await mkdir(dirname(path), { recursive: true });
  await symlink(join(repositoryRoot, "node_modules", name), path, "junction");
}

/** Parses the fields of a package.json that these tests use. */
export function parseManifest(text: string): {
  readonly version: string;
  readonly dependencies: readonly string[];
  readonly peerDependencies: readonly string[];
  readonly exports: Readonly<Record<string, unknown>>;
} {
  const manifest = JSON.parse(text) as {
    readonly version: string;
    readonly dependencies?: Readonly<Record<string, string>>;
    readonly peerDependencies?: Readonly<Record<string, string>>;
    readonly exports?: Readonly<Record<string, unknown>>;
  };
  return {
    version: manifest.version,
    dependencies: Object.keys(manifest.dependencies ?? {}),
    peerDependencies: Object.keys(manifest.peerDependencies ?? {}),
    exports: manifest.exports ?? {},
  };
}

import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { TestProject } from "vitest/node";
import { repositoryRoot } from "./installed.ts";

declare module "vitest" {
  interface ProvidedContext {
    readonly packedPackages: PackedPackages;
  }
}

/** The tarballs of the packages as they would be published. */
export interface PackedPackages {
  readonly folder: string;
  /** The SDK first. */
  readonly packages: readonly [PackedPackage, ...PackedPackage[]];
}

export interface PackedPackage {
  readonly name: string;
  readonly version: string;
  readonly filename: string;
  readonly integrity: string;
}

const publishedFolders = [".", "./server", "./cli", "./langsmith"] as const;

let folder: string | undefined;

/** Packs the packages once for all tests of the project. Vitest calls this before the first test. Requires a build. */
export async function setup(project: TestProject): Promise<void> {
  folder = await mkdtemp(join(tmpdir(), "millrace-packed-"));
  const packing = ["pack", "--ignore-scripts", "--json", "--pack-destination", folder];
  const { stdout } = await promisify(execFile)("npm", [...packing, ...publishedFolders], {
    cwd: repositoryRoot,
  });
  const packages = JSON.parse(stdout) as PackedPackages["packages"];
  project.provide("packedPackages", { folder, packages });
}

/** Vitest calls this after the last test. */
export async function teardown(): Promise<void> {
  if (folder !== undefined) {
    await rm(folder, { recursive: true, force: true });
  }
}

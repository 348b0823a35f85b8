import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));

export const testImports = `
import { afterEach, describe as group, expect as plainExpect, vi } from "vitest";
import { describe, expect, logOutputs, score, test } from "millrace/vitest";
`;

/** A project whose tests vitest runs as a process of its own. */
export interface VitestProject {
  readonly folder: string;
  /** Runs vitest, with these arguments and variables. */
  run(
    args?: readonly string[],
    env?: Readonly<Record<string, string>>,
  ): Promise<{ readonly code: number | null; readonly output: string }>;
}

/** How the project is made. */
export interface ProjectOptions {
  /** Folder of the package of vitest. @defaultValue that of the repository */
  readonly vitest?: string;
  /** Members of the option `test` of vitest's configuration, as source. */
  readonly config?: string;
}

/**
 * Creates a folder with test files, in which `millrace` is installed as it is when it is published. It is removed after
 * the test.
 */
export async function createVitestProject(
  files: Readonly<Record<string, string>>,
  { vitest = join(root, "node_modules/vitest"), config = "" }: ProjectOptions = {},
): Promise<VitestProject> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "millrace-vitest-")));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await installPackages(join(folder, "node_modules"), vitest);
  const sources = {
    "package.json": '{"type":"module"}',
    "vitest.config.js": `export default { test: { reporters: ["default", "millrace/vitest/reporter"], ...{ ${config} } } };`,
    ...files,
  };
  for (const [name, source] of Object.entries(sources)) {
    await writeFile(join(folder, name), source);
  }
  return {
    folder,
    run: (args = [], env = {}) => runVitest(join(vitest, "vitest.mjs"), { folder, args, env }),
  };
}

async function installPackages(modules: string, vitest: string): Promise<void> {
  const installed = join(modules, "millrace");
  await mkdir(installed, { recursive: true });
  await cp(join(root, "package.json"), join(installed, "package.json"));
  // A copy: vitest compiles what is not in a folder `node_modules`, and a link leads to the repository.
  await cp(join(root, "dist"), join(installed, "dist"), {
    recursive: true,
    filter: (path) => !/\.(?:d\.ts|map)$/.test(path),
  });
  await symlink(vitest, join(modules, "vitest"));
  await symlink(join(root, "node_modules/piscina"), join(modules, "piscina"));
}

async function runVitest(
  command: string,
  {
    folder,
    args,
    env,
  }: {
    readonly folder: string;
    readonly args: readonly string[];
    readonly env: Readonly<Record<string, string>>;
  },
): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn(process.execPath, [command, "run", ...args], {
    cwd: folder,
    env: { PATH: process.env["PATH"], NO_COLOR: "1", ...env },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 90_000,
  });
  let output = "";
  const append = (chunk: string): void => {
    output += chunk;
  };
  child.stdout.setEncoding("utf8").on("data", append);
  child.stderr.setEncoding("utf8").on("data", append);
  const [code] = (await once(child, "close")) as [number | null];
  return { code, output };
}

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCounter } from "../support/run-counter.ts";
import { installPacked, repositoryRoot } from "./installed.ts";
import type { Installed } from "./installed.ts";

const run = promisify(execFile);
let runtimes: string;
let installed: Installed;
/** Why the runtimes could not be installed. */
let unreachable: string | undefined;

beforeAll(async () => {
  installed = await installPacked();
  runtimes = await mkdtemp(join(tmpdir(), "millrace-runtimes-"));
  const programFolder = join(repositoryRoot, "tests/consumer/runtimes");
  await cp(join(programFolder, "package.json"), join(runtimes, "package.json"));
  await cp(join(programFolder, "program.mjs"), join(installed.folder, "program.mjs"));
  try {
    const flags = ["install", "--ignore-scripts", "--no-audit", "--no-fund"];
    await run("npm", flags, { cwd: runtimes, timeout: 200_000 });
  } catch (error) {
    unreachable = String(error).slice(0, 500);
  }
}, 250_000);

afterAll(async () => {
  await installed.remove();
  await rm(runtimes, { recursive: true, force: true });
});

const { arch, platform } = process;
const binaries: readonly (readonly [string, string, readonly string[]])[] = [
  ["Bun", `@oven/bun-${platform}-${arch === "arm64" ? "aarch64" : arch}/bin/bun`, []],
  [
    "Deno",
    `@deno/${platform}-${arch}${platform === "linux" ? "-glibc" : ""}/deno`,
    ["run", "--allow-all", "--node-modules-dir=manual"],
  ],
];

test.for(binaries)("%s delivers", { timeout: 60_000 }, async ([name, path, flags], { skip }) => {
  const binary = join(runtimes, "node_modules", path);
  if (unreachable !== undefined || !existsSync(binary)) {
    skip(`${name} can't be installed here: ${unreachable ?? `no package for ${platform} ${arch}`}`);
  }
  await using server = await runCounter();
  const { stdout } = await run(binary, [...flags, "program.mjs"], {
    cwd: installed.folder,
    env: { PATH: process.env["PATH"], ENDPOINT: server.url },
    timeout: 50_000,
  });
  expect(JSON.parse(stdout)).toEqual({ delivered: 4, pending: 0, failure: null });
  expect(server.started.size).toBe(2);
  expect(server.ended).toEqual(server.started);
});

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { runCounter } from "../support/run-counter.ts";
import type { RunCounter } from "../support/run-counter.ts";
import { installBundlers } from "./bundled.ts";
import type { Bundlers } from "./bundled.ts";

const run = promisify(execFile);
let bundlers: Bundlers;
let server: RunCounter;

beforeAll(async () => {
  server = await runCounter();
  bundlers = await installBundlers();
}, 400_000);

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await (bundlers.kind === "installed" ? bundlers.installed.remove() : undefined);
});

const longTimeout = { timeout: 400_000 };

/** The folder with the bundlers. If they can't be installed, the test is skipped with the reason. */
function folderOr(skip: (why: string) => never): string {
  return bundlers.kind === "installed"
    ? bundlers.installed.folder
    : skip(`the bundlers can't be installed here: ${bundlers.reason}`);
}

interface ProgramResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly warnings: number;
}

/** Runs node in a folder. */
async function node(folder: string, args: readonly string[]): Promise<ProgramResult> {
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { ...process.env, ENDPOINT: server.url, NODE_OPTIONS: "" },
  });
  const output = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk: Buffer) => (output.stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (output.stderr += chunk.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  const warnings = output.stderr.split("[millrace]").length - 1;
  return { code, stdout: output.stdout, warnings };
}

const delivered = (threaded: boolean): string =>
  `${JSON.stringify({ first: 2, workersAtFirst: 0, delivered: 2, threaded })}\n`;

const workerEntries = [
  "worker=node_modules/piscina/dist/worker.js",
  "millrace-worker=node_modules/millrace/dist/workers/host/ship.task.js",
  "--external:@napi-rs/nice",
];
const moduleBanner =
  'import { createRequire as millraceRequire } from "node:module"; import { fileURLToPath as millracePath } from "node:url"; const require = millraceRequire(import.meta.url); const __dirname = millracePath(new URL(".", import.meta.url));';

test.for([
  { name: "CommonJS, one file", format: "cjs", extra: [], threaded: false },
  {
    name: "CommonJS, with the worker's files",
    format: "cjs",
    extra: workerEntries,
    threaded: true,
  },
  { name: "ESM, one file", format: "esm", extra: [`--banner:js=${moduleBanner}`], threaded: false },
  {
    name: "ESM, with the worker's files",
    format: "esm",
    extra: [`--banner:js=${moduleBanner}`, ...workerEntries],
    threaded: true,
  },
  {
    name: "ESM, the package left out",
    format: "esm",
    extra: ["--external:millrace"],
    threaded: true,
  },
])(
  "esbuild, $name: runs arrive, without a worker after one warning",
  longTimeout,
  async ({ name, format, extra, threaded }, { skip, expect: expectHere }) => {
    const folder = folderOr(skip);
    const out = join(folder, `esbuild ${name}`);
    await run(
      join(folder, "node_modules/.bin/esbuild"),
      [
        "app=program.mjs",
        "--bundle",
        "--platform=node",
        `--format=${format}`,
        `--outdir=${out}`,
        ...extra,
      ],
      { cwd: folder },
    );
    const type = format === "esm" ? "module" : "commonjs";
    await writeFile(join(out, "package.json"), JSON.stringify({ type }));
    const result = await node(folder, [join(out, "app.js")]);
    expectHere(result).toEqual({
      code: 0,
      stdout: delivered(threaded),
      warnings: threaded ? 0 : 1,
    });
  },
);

describe("webpack", () => {
  const workerFiles = {
    worker: "./node_modules/piscina/dist/worker.js",
    "millrace-worker": "./node_modules/millrace/dist/workers/host/ship.task.js",
  };
  const builds = {
    single: {},
    "with entries": {
      entry: { app: "./program.mjs", ...workerFiles },
      externals: { "@napi-rs/nice": "commonjs @napi-rs/nice" },
    },
    external: { target: "node20", externals: { millrace: "import millrace" } },
  };

  beforeAll(async () => {
    if (bundlers.kind === "installed") {
      await webpack(bundlers.installed.folder, builds);
    }
  }, 400_000);

  test("a single file, outside of any node_modules: runs arrive after one warning", async ({
    skip,
  }) => {
    const movedFolder = await moveAway(join(folderOr(skip), "webpacked single"));
    const result = await node(movedFolder, ["app.js"]);
    expect(result).toEqual({ code: 0, stdout: delivered(false), warnings: 1 });
  }, 60_000);

  test("with the worker's files as entries, outside of any node_modules: runs arrive through a worker", async ({
    skip,
  }) => {
    const movedFolder = await moveAway(join(folderOr(skip), "webpacked with entries"));
    const result = await node(movedFolder, ["app.js"]);
    expect(result).toEqual({ code: 0, stdout: delivered(true), warnings: 0 });
  }, 60_000);

  test("with the worker's files copied next to it, outside of any node_modules: runs arrive after one warning", async ({
    skip,
  }) => {
    const folder = folderOr(skip);
    const movedFolder = await moveAway(join(folder, "webpacked single"));
    await cp(join(folder, "node_modules/piscina/dist/worker.js"), join(movedFolder, "worker.js"));
    const task = join(folder, "node_modules/millrace/dist/workers/host/ship.task.js");
    await cp(task, join(movedFolder, "millrace-worker.mjs"));
    const result = await node(movedFolder, ["app.js"]);
    expect(result).toEqual({ code: 0, stdout: delivered(false), warnings: 1 });
  }, 60_000);

  test("the package as an external: runs arrive through a worker", async ({ skip }) => {
    const result = await node(folderOr(skip), ["webpacked external/app.js"]);
    expect(result).toEqual({ code: 0, stdout: delivered(true), warnings: 0 });
  }, 60_000);
});

/** Moves a build to a folder from which no package can be found. */
async function moveAway(built: string): Promise<string> {
  const movedFolder = join(await mkdtemp(join(tmpdir(), "millrace-bundle-")), "build");
  onTestFinished(() => rm(join(movedFolder, ".."), { recursive: true, force: true }));
  await cp(built, movedFolder, { recursive: true });
  return movedFolder;
}

/** Builds all configurations in one process. */
async function webpack(folder: string, builds: Readonly<Record<string, object>>): Promise<void> {
  const configs = Object.entries(builds).map(([name, more]) => ({
    mode: "production",
    // Minification changes nothing in the result, but takes a minute longer.
    optimization: { minimize: false },
    target: "node",
    context: folder,
    entry: { app: "./program.mjs" },
    output: { path: join(folder, `webpacked ${name}`), filename: "[name].js" },
    ...more,
  }));
  const build = `require("webpack")(${JSON.stringify(configs)}, (error, stats) => {
    if (error || stats.hasErrors()) { console.error(error ?? stats.toString()); process.exit(1); }
  });`;
  await run(process.execPath, ["-e", build], { cwd: folder });
}

test.for([
  { name: "with serverExternalPackages, through a worker", config: "external", threaded: true },
  {
    name: "without it, after one warning, from the main thread",
    config: "bundled",
    threaded: false,
  },
])(
  "Next.js, a route handler that records, $name",
  longTimeout,
  async ({ config, threaded }, { skip }) => {
    const folder = join(folderOr(skip), `next-${config}`);
    await cp(join(folder, "../next"), folder, { recursive: true });
    if (config === "bundled") {
      await writeFile(join(folder, "next.config.mjs"), "export default {};\n");
    }
    const env = {
      ...process.env,
      NEXT_TELEMETRY_DISABLED: "1",
      ENDPOINT: server.url,
      NODE_ENV: "production",
    };
    const next = join(folder, "../node_modules/next/dist/bin/next");
    await run(process.execPath, [next, "build"], { cwd: folder, env });
    const child = spawn(
      process.execPath,
      [next, "start", "--port", "0", "--hostname", "127.0.0.1"],
      { cwd: folder, env },
    );
    let text = "";
    let trouble = "";
    child.stdout.on("data", (chunk: Buffer) => (text += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (trouble += chunk.toString()));
    try {
      await expect.poll(() => text, { timeout: 120_000 }).toContain("Ready");
      const [address] = /http:\/\/127\.0\.0\.1:[1-9]\d*/.exec(text) ?? [];
      const response = await fetch(`${address}/record`);
      expect(await response.json()).toEqual({ delivered: 2, threaded });
      expect(trouble.split("[millrace]").length - 1).toBe(threaded ? 0 : 1);
    } finally {
      child.kill();
      await once(child, "close");
    }
  },
);

test(
  "jest: runs arrive, and nothing is left open that keeps it from ending",
  longTimeout,
  async ({ skip }) => {
    const folder = folderOr(skip);
    await writeFile(
      join(folder, "jest.config.json"),
      '{"roots":["<rootDir>/jest"],"testMatch":["**/*.test.mjs"],"testEnvironment":"node","transform":{}}',
    );
    const before = server.ended.size;
    const result = await node(folder, [
      "--experimental-vm-modules",
      "node_modules/jest/bin/jest.js",
      "--config=jest.config.json",
      "--runInBand",
    ]);
    expect(result.code).toBe(0);
    expect(server.ended.size).toBe(before + 1);
  },
);

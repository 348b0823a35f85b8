import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
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

const patient = { timeout: 400_000 };

/** Where the bundlers are; where they can't be installed the test is skipped, and says why. */
function folderOr(skip: (why: string) => never): string {
  return bundlers.kind === "installed"
    ? bundlers.installed.folder
    : skip(`the bundlers can't be installed here: ${bundlers.reason}`);
}

interface Said {
  readonly code: number | null;
  readonly stdout: string;
  readonly warnings: number;
}

/** Runs node in a folder. */
async function node(folder: string, args: readonly string[]): Promise<Said> {
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

const delivered = (threaded: boolean): string => `${JSON.stringify({ delivered: 2, threaded })}\n`;

const workerEntries = [
  "worker=node_modules/piscina/dist/worker.js",
  "millrace-worker=node_modules/millrace/dist/workers/ship.task.js",
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
  patient,
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
    const said = await node(folder, [join(out, "app.js")]);
    expectHere(said).toEqual({ code: 0, stdout: delivered(threaded), warnings: threaded ? 0 : 1 });
  },
);

test("webpack, all in one file: runs arrive after one warning", patient, async ({ skip }) => {
  const folder = folderOr(skip);
  await webpack(folder, {});
  const said = await node(folder, ["webpacked/app.js"]);
  expect(said).toEqual({ code: 0, stdout: delivered(false), warnings: 1 });
});

test("webpack, the package left out: runs arrive through a worker", patient, async ({ skip }) => {
  const folder = folderOr(skip);
  await webpack(folder, { target: "node20", externals: { millrace: "import millrace" } });
  const said = await node(folder, ["webpacked/app.js"]);
  expect(said).toEqual({ code: 0, stdout: delivered(true), warnings: 0 });
});

async function webpack(folder: string, more: object): Promise<void> {
  const config = {
    mode: "production",
    target: "node",
    context: folder,
    entry: { app: "./program.mjs" },
    output: { path: join(folder, "webpacked"), filename: "[name].js" },
    ...more,
  };
  const build = `require("webpack")(${JSON.stringify(config)}, (error, stats) => {
    if (error || stats.hasErrors()) { console.error(error ?? stats.toString()); process.exit(1); }
  });`;
  await run(process.execPath, ["-e", build], { cwd: folder });
}

test(
  "Next.js, a route handler that records: runs arrive through a worker",
  patient,
  async ({ skip }) => {
    const folder = folderOr(skip);
    await cp(join(folder, "next"), folder, { recursive: true });
    const env = {
      ...process.env,
      NEXT_TELEMETRY_DISABLED: "1",
      ENDPOINT: server.url,
      NODE_ENV: "production",
    };
    const next = join(folder, "node_modules/next/dist/bin/next");
    await run(process.execPath, [next, "build"], { cwd: folder, env });
    const child = spawn(
      process.execPath,
      [next, "start", "--port", "0", "--hostname", "127.0.0.1"],
      {
        cwd: folder,
        env,
      },
    );
    try {
      const address = await new Promise<string>((resolve) => {
        let text = "";
        child.stdout.on("data", (chunk: Buffer) => {
          text += chunk.toString();
          const [found] = /http:\/\/127\.0\.0\.1:[1-9]\d*/.exec(text) ?? [];
          if (found !== undefined && text.includes("Ready")) {
            resolve(found);
          }
        });
      });
      const response = await fetch(`${address}/record`);
      expect(await response.json()).toEqual({ delivered: 2, threaded: true });
    } finally {
      child.kill();
      await once(child, "close");
    }
  },
);

test(
  "jest: runs arrive, and nothing is left open that keeps it from ending",
  patient,
  async ({ skip }) => {
    const folder = folderOr(skip);
    await writeFile(
      join(folder, "jest.config.json"),
      '{"roots":["<rootDir>/jest"],"testMatch":["**/*.test.mjs"],"testEnvironment":"node","transform":{}}',
    );
    const before = server.ended.size;
    const said = await node(folder, [
      "--experimental-vm-modules",
      "node_modules/jest/bin/jest.js",
      "--config=jest.config.json",
      "--runInBand",
    ]);
    expect(said.code).toBe(0);
    expect(server.ended.size).toBe(before + 1);
  },
);

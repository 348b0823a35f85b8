import { execFile } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join, sep } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { installPacked, parseManifest } from "./installed.ts";
import type { Installed } from "./installed.ts";

const run = promisify(execFile);
let installed: Installed;
let files: readonly string[];

beforeAll(async () => {
  installed = await installPacked();
  const entries = await readdir(installed.packageFolder, { recursive: true, withFileTypes: true });
  files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(installed.packageFolder.length + 1))
    .map((path) => path.split(sep).join("/"));
});

afterAll(() => installed.remove());

test("the package depends on Piscina, whose threads need its files, and contains the rest with its licences", async () => {
  const text = await readFile(join(installed.packageFolder, "package.json"), "utf8");
  expect(parseManifest(text).dependencies).toEqual(["piscina"]);
  expect(JSON.parse(text)).not.toHaveProperty("optionalDependencies");
  expect(JSON.parse(text)).not.toHaveProperty("bundledDependencies");
  const licences = await readFile(
    join(installed.packageFolder, "dist/THIRD-PARTY-LICENSES.txt"),
    "utf8",
  );
  const names = [...licences.matchAll(/^([\w@/-]+) \d\S* \(/gm)].map(([, name]) => name);
  expect(names).toEqual([
    "fast-json-stringify",
    "is-network-error",
    "p-retry",
    "semver",
    "undici",
    "uuid",
  ]);
});

test("the package holds types, and as code the files that programs import and that threads run, with their chunks", () => {
  const types =
    /^dist\/(api|delivery|integrations|main|model|tracing|transport|uploads|workers)\/[\w./-]+\.d\.ts$/;
  const others = files.filter((file) => !types.test(file) && !file.startsWith("dist/chunks/"));
  expect(others.toSorted()).toEqual([
    "CHANGELOG.md",
    "LICENSE",
    "README.md",
    "bin/millrace.mjs",
    "cjs/index.cjs",
    "cjs/index.d.cts",
    "dist/THIRD-PARTY-LICENSES.txt",
    "dist/integrations/express/index.js",
    "dist/integrations/fastify/index.js",
    "dist/integrations/fetch/index.js",
    "dist/integrations/hono/index.js",
    "dist/integrations/lambda/index.js",
    "dist/integrations/langchain/index.js",
    "dist/integrations/mcp/index.js",
    "dist/integrations/openai-agents/index.js",
    "dist/main/index.js",
    "dist/main/spool-tools.js",
    "dist/main/sync.worker.js",
    "dist/model/index.js",
    "dist/uploads/upload.task.js",
    "dist/workers/host/ship.task.js",
    "dist/workers/wire.js",
    "package.json",
  ]);
});

test("the package carries its licence", () => {
  expect(files).toContain("LICENSE");
});

test("every import of the package is one it declares, its own file, or Node's", async () => {
  const { dependencies, peerDependencies } = installed;
  expect(await foreignImports(/\.js$/, dependencies)).toEqual([]);
  // Types of the libraries that the integrations are for. A program that uses one of them has it.
  expect(await foreignImports(/\.d\.ts$/, [...dependencies, ...peerDependencies])).toEqual([]);
});

test("the libraries that the integrations are for are optional", async () => {
  const text = await readFile(join(installed.packageFolder, "package.json"), "utf8");
  const { peerDependencies, peerDependenciesMeta } = JSON.parse(text) as {
    readonly peerDependencies: Readonly<Record<string, string>>;
    readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional: boolean }>>;
  };
  const optional = Object.keys(peerDependencies).map((name) => [name, { optional: true }]);
  expect(peerDependenciesMeta).toEqual(Object.fromEntries(optional));
});

/** The names of packages that files of the package import, except `declared`. */
async function foreignImports(
  pattern: RegExp,
  declared: readonly string[],
): Promise<readonly string[]> {
  const specifiers = await Promise.all(
    files
      .filter((file) => pattern.test(file))
      .map(async (file) => importsOf(await readFile(join(installed.packageFolder, file), "utf8"))),
  );
  const names = specifiers
    .flat()
    .filter((name) => !/^(\.|#|node:)/.test(name))
    .map((name) => name.split("/", name.startsWith("@") ? 2 : 1).join("/"));
  return [...new Set(names)].filter((name) => !declared.includes(name));
}

test("a program outside the repository can import every entry point", async () => {
  const program = join(installed.folder, "program.mjs");
  await writeFile(
    program,
    `import { version } from "millrace";
     import { endpoints } from "millrace/model";
     import { parsePartName } from "millrace/wire";
     console.log(JSON.stringify([version, endpoints.readInfo.path, parsePartName("post.1").kind]));`,
  );
  const { stdout } = await run(process.execPath, [program]);
  const { version } = parseManifest(
    await readFile(join(installed.packageFolder, "package.json"), "utf8"),
  );
  expect(JSON.parse(stdout)).toEqual([version, "/info", "run"]);
});

test("without the libraries that they are for, the integrations can be imported and used", async () => {
  const program = join(installed.folder, "integrations.mjs");
  await writeFile(
    program,
    `import * as express from "millrace/express";
     import * as fastify from "millrace/fastify";
     import { tracedFetch } from "millrace/fetch";
     import * as hono from "millrace/hono";
     import { traceHandler } from "millrace/lambda";
     import { toRunnableConfig } from "millrace/langchain";
     import { traceClient } from "millrace/mcp";
     import { MillraceTracingProcessor } from "millrace/openai-agents";
     import { RunTree, traceable } from "millrace";
     const answer = await traceHandler(traceable(async () => "answer"))({});
     const absent = ["express", "fastify", "hono", "@modelcontextprotocol/sdk/client/index.js", "@langchain/core/tools", "@openai/agents"].map((name) => import(name).catch(({ code }) => code));
     const kinds = [express, fastify, hono].map(({ traceRequests }) => typeof traceRequests);
     kinds.push(typeof toRunnableConfig(new RunTree({})), typeof await new MillraceTracingProcessor().onTraceStart({ traceId: "t", name: "n" }));
     kinds.push(typeof traceClient({ connect: async () => {} }), typeof tracedFetch());
     console.log(JSON.stringify([answer, ...kinds, ...(await Promise.all(absent))]));`,
  );
  const { stdout } = await run(process.execPath, [program]);
  expect(JSON.parse(stdout)).toEqual([
    "answer",
    "function",
    "function",
    "function",
    "object",
    "undefined",
    "object",
    "function",
    ...Array<string>(6).fill("ERR_MODULE_NOT_FOUND"),
  ]);
});

const importsOf = (source: string): readonly string[] =>
  [...source.matchAll(/(?:^|[\s;}])(?:from|import)\s*\(?\s*"([^"\n]+)"/g)].flatMap(
    ([, name]) => name ?? [],
  );

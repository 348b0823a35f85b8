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
  const sources = files.filter((file) => /\.(js|d\.ts)$/.test(file));
  const specifiers = await Promise.all(
    sources.map(async (file) =>
      importsOf(await readFile(join(installed.packageFolder, file), "utf8")),
    ),
  );
  const foreign = specifiers
    .flat()
    .filter((name) => !/^(\.|#|node:)/.test(name))
    .map((name) => name.split("/", name.startsWith("@") ? 2 : 1).join("/"));
  expect([...new Set(foreign)].filter((name) => !installed.dependencies.includes(name))).toEqual(
    [],
  );
});

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

const importsOf = (source: string): readonly string[] =>
  [...source.matchAll(/(?:^|[\s;}])(?:from|import)\s*\(?\s*"([^"\n]+)"/g)].flatMap(
    ([, name]) => name ?? [],
  );

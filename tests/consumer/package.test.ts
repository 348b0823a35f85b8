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

test("the package depends on six packages and no other", async () => {
  const text = await readFile(join(installed.packageFolder, "package.json"), "utf8");
  expect(parseManifest(text).dependencies.toSorted()).toEqual([
    "fast-json-stringify",
    "p-retry",
    "piscina",
    "semver",
    "undici",
    "uuid",
  ]);
  expect(JSON.parse(text)).not.toHaveProperty("optionalDependencies");
  expect(JSON.parse(text)).not.toHaveProperty("bundledDependencies");
});

test("the package holds the SDK's own folders: no server, database, UI or test", () => {
  const built =
    /^dist\/(api|delivery|integrations|main|model|tracing|transport|uploads|workers)\/[\w./-]+\.(js|d\.ts)(\.map)?$/;
  const entries = ["bin/millrace.mjs", "cjs/index.cjs", "cjs/index.d.cts"];
  const otherFiles = [...entries, "CHANGELOG.md", "LICENSE", "README.md", "package.json"];
  expect(files.filter((file) => !built.test(file) && !otherFiles.includes(file))).toEqual([]);
  expect(
    files.filter((file) => /test|fixture|server\/|web\/|\.(db|node|html)$/.test(file)),
  ).toEqual([]);
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

import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { startServer } from "@millrace/server";
import type { RunningServer } from "@millrace/server";
import * as ts from "typescript";
import { parse as parseYaml } from "yaml";
import { afterAll, beforeAll, expect, test } from "vitest";
import { blocksOf, documentedPages } from "./documented.ts";
import type { DocumentedBlock } from "./documented.ts";
import { repositoryRoot } from "./installed.ts";
import { latestBlocks, latestPages, settings, unrun } from "./sample-settings.ts";
import type { Setting } from "./sample-settings.ts";

const run = promisify(execFile);

/** The languages that code blocks may have, with the test that checks them. A block without a language is an error. */
const languages: ReadonlySet<string> = new Set([
  "ts", // compiled and run by this test
  "js", // compiled and run by this test
  "json", // parsed by this test
  "yaml", // parsed by this test
  "text", // output of a program, compared by this test, unless `unrun` gives a reason
  "sh", // doc-commands.test.ts
  "filter", // server/src/filter/tests/filter-docs.test.ts
]);

const pages = (await documentedPages()).filter((page) => !latestPages.includes(page));
const blocks = (await Promise.all(pages.map(blocksOf)))
  .flat()
  .filter(
    ({ page, text }) =>
      !latestBlocks.some((one) => one.page === page && text.includes(one.contains)),
  );
const settingsOf = (block: DocumentedBlock): readonly Setting[] =>
  settings.filter(({ page, contains }) => page === block.page && block.text.includes(contains));
const isUnrun = ({ page, text }: DocumentedBlock): boolean =>
  unrun.some((one) => one.page === page && text.includes(one.contains));
const nameOf = ({ page, line }: DocumentedBlock): string => `${page}:${line}`;
const programs = blocks.filter(
  (block) =>
    ["ts", "js"].includes(block.language) || (block.language === "text" && !isUnrun(block)),
);

/** The folder of the samples, in which the packages are installed as in a reader's project. */
let folder: string;
let server: RunningServer;

beforeAll(async () => {
  server = await startServer({ port: 0, dataDir: ":memory:" });
  folder = await mkdtemp(join(tmpdir(), "millrace-samples-"));
  await symlink(join(repositoryRoot, "node_modules"), join(folder, "node_modules"), "junction");
  await writeFile(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(compilerSettings));
  await Promise.all(
    programs.map((block) => writeFile(join(folder, fileOf(block)), sourceOf(block))),
  );
});

afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

/** Strict settings, with which the types of the packages must compile. A sample need not use every name that it declares. */
const compilerSettings = {
  compilerOptions: {
    target: "es2023",
    module: "nodenext",
    lib: ["es2023", "esnext.disposable", "dom.iterable", "dom"],
    types: ["node"],
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
    noEmit: true,
  },
  include: ["*.ts"],
};

const fileOf = (block: DocumentedBlock): string =>
  `${nameOf(block).replaceAll(/[^\w]/g, "-")}.${block.language === "js" ? "js" : "ts"}`;

/** The program for a sample: its settings' code, the sample, and the code after it. For output, only the code that prints it. */
function sourceOf(block: DocumentedBlock): string {
  const [{ before = "", after = "" } = {}] = settingsOf(block);
  const written = block.language === "text" ? "" : block.text;
  // What an npm alias does.
  const sample =
    block.page === "docs/moving-over.md"
      ? written.replaceAll('from "langsmith', 'from "@millrace/langsmith')
      : written;
  return `${before.replaceAll("REPOSITORY", repositoryRoot.replace(/\/$/, ""))}\n${sample}\n${after}\nexport {};\n`;
}

test("every block of a page names a language that a test runs", () => {
  const others = blocks.filter(({ language }) => !languages.has(language));
  expect(others.map((block) => `${nameOf(block)} [${block.language}]`)).toEqual([]);
  expect(programs.length).toBeGreaterThan(30);
});

test("every setting and every reason belongs to one block, and no block has two", () => {
  const countBlocks = (setting: { readonly page: string; readonly contains: string }): number =>
    blocks.filter(({ page, text }) => page === setting.page && text.includes(setting.contains))
      .length;
  const unmatched = [...settings, ...unrun].filter((setting) => countBlocks(setting) !== 1);
  expect(unmatched.map(({ page, contains }) => `${page}: ${contains}`)).toEqual([]);
  expect(blocks.filter((block) => settingsOf(block).length > 1).map(nameOf)).toEqual([]);
  const texts = blocks.filter(({ language }) => language === "text");
  expect(texts.filter((block) => !isUnrun(block) && settingsOf(block).length === 0)).toEqual([]);
  expect(blocks.filter((block) => block.language !== "text" && isUnrun(block))).toEqual([]);
});

test("every block of JSON can be parsed", () => {
  const texts = blocks.filter(({ language }) => language === "json").map(({ text }) => text);
  expect(texts.length).toBeGreaterThan(0);
  expect(() => texts.map((text) => JSON.parse(text) as unknown)).not.toThrow();
});

test("every block of YAML can be parsed", () => {
  const texts = blocks.filter(({ language }) => language === "yaml").map(({ text }) => text);
  expect(texts.length).toBeGreaterThan(0);
  for (const text of texts) {
    expect(parseYaml(text)).toBeInstanceOf(Object);
  }
});

test("every sample compiles, strictly", { timeout: 120_000 }, async () => {
  const compiler = join(repositoryRoot, "node_modules/typescript-7.0/bin/tsc");
  const compilerOutput = await run(process.execPath, [compiler, "--project", folder]).then(
    ({ stdout }) => stdout,
    (error: unknown) => (error as { readonly stdout: string }).stdout,
  );
  expect(compilerOutput).toBe("");
});

test.concurrent.for(programs.map((block) => [nameOf(block), block] as const))(
  "%s runs as written",
  { timeout: 120_000 },
  async ([, block], { expect: expectHere }) => {
    const source = replacements
      .reduce((text, [from, to]) => text.replaceAll(from, to), sourceOf(block))
      .replaceAll("http://127.0.0.1:1984", server.url);
    const sampleFolder = join(folder, fileOf(block).replace(/\..*/, ""));
    await mkdir(sampleFolder);
    const isTest = source.includes('"millrace/vitest"');
    const file = join(sampleFolder, isTest ? "program.test.mjs" : "program.mjs");
    await writeFile(
      file,
      ts.transpile(source, { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023 }),
    );
    // Only programs that import our TypeScript sources need a loader.
    const loader = source.includes(repositoryRoot) ? ["--import", tsx] : [];
    const program = isTest ? [vitest, "run", "--root", sampleFolder] : [...loader, file];
    const result = await run(process.execPath, program, {
      cwd: block.page === "docs/bundlers.md" ? repositoryRoot : sampleFolder,
      env: { ...cleanEnvironment(), ...(await ownTenant(nameOf(block))) },
      timeout: 60_000,
    }).then(
      ({ stdout, stderr }) => ({ stdout, stderr, error: "" }),
      (error: unknown) => ({ ...(error as Printed), error: String(error) }),
    );
    const [{ prints } = {}] = settingsOf(block);
    const { stdout, stderr, error } = result;
    if (block.language === "text") {
      expectHere(flat(`${stdout}${stderr}`)).toMatch(patternOf(block.text));
      return;
    }
    expectHere({ error, stderr }).toEqual({ error: "", stderr: "" });
    if (prints !== undefined) {
      expectHere(flat(stdout)).toMatch(patternOf(prints));
    }
  },
);

/** Replacements for text that would use a fixed port, or take too long next to other tests. */
const replacements: readonly (readonly [string, string])[] = [
  ["port: 1984", "port: 0"],
  ["i < 100_000", "i < 2_000"],
];

interface Printed {
  readonly stdout: string;
  readonly stderr: string;
}

const vitest = join(repositoryRoot, "node_modules/vitest/vitest.mjs");
const tsx = new URL("../../node_modules/tsx/dist/esm/index.mjs", import.meta.url).href;

const flat = (text: string): string => text.replaceAll(/\s+/g, " ").trim();

/** A pattern for a text in which `…` stands for anything. */
const patternOf = (text: string): RegExp => {
  const parts = flat(text).split("…");
  return new RegExp(parts.map((part) => part.replaceAll(/[$()*+.?[\\\]^{|}]/g, "\\$&")).join(".*"));
};

const cleanEnvironment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(NODE_OPTIONS|VITEST|MILLRACE_|LANGSMITH_|LANGCHAIN_|OTEL_)/.test(name),
    ),
  );

/** Creates a separate tenant for a sample, because samples of several pages create a dataset of the same name. */
async function ownTenant(handle: string): Promise<NodeJS.ProcessEnv> {
  const answer = await fetch(`${server.url}/ui/tenants`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ handle: handle.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-") }),
  });
  const { id } = (await answer.json()) as { readonly id: string };
  return {
    MILLRACE_ENDPOINT: server.url,
    MILLRACE_WORKSPACE_ID: id,
    OTEL_EXPORTER_OTLP_HEADERS: `x-tenant-id=${id}`,
  };
}

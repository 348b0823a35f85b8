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
    /^dist\/(api|delivery|evaluation|integrations|main|model|scorers|templates|tracing|transport|uploads|workers)\/[\w./-]+\.d\.ts$/;
  const others = files.filter((file) => !types.test(file) && !file.startsWith("dist/chunks/"));
  expect(others.toSorted()).toEqual([
    "CHANGELOG.md",
    "LICENSE",
    "README.md",
    "bin/millrace.mjs",
    "cjs/index.cjs",
    "cjs/index.d.cts",
    "dist/THIRD-PARTY-LICENSES.txt",
    "dist/evaluation/index.js",
    "dist/evaluation/vitest/index.js",
    "dist/evaluation/vitest/reporter.js",
    "dist/integrations/ai-sdk/index.js",
    "dist/integrations/anthropic/index.js",
    "dist/integrations/express/index.js",
    "dist/integrations/fastify/index.js",
    "dist/integrations/fetch/index.js",
    "dist/integrations/google/index.js",
    "dist/integrations/hono/index.js",
    "dist/integrations/lambda/index.js",
    "dist/integrations/langchain/index.js",
    "dist/integrations/mcp/index.js",
    "dist/integrations/openai-agents/index.js",
    "dist/integrations/openai/index.js",
    "dist/integrations/otel/index.js",
    "dist/integrations/prompts/index.js",
    "dist/main/index.js",
    "dist/main/spool-tools.js",
    "dist/main/sync.worker.js",
    "dist/model/index.js",
    "dist/scorers/index.js",
    "dist/templates/index.js",
    "dist/uploads/upload.task.js",
    "dist/workers/host/ship.task.js",
    "dist/workers/spans/index.js",
    "dist/workers/wire.js",
    "package.json",
  ]);
});

test("the package carries its licence", () => {
  expect(files).toContain("LICENSE");
});

test("every import of the package is one it declares, its own file, or Node's", async () => {
  const { dependencies, peerDependencies } = installed;
  // Tests call `millrace/vitest`, and the reporter needs nothing of vitest.
  expect(await foreignImports(/\.js$/, [...dependencies, "vitest"])).toEqual([]);
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

/** For each integration: the library that it is for, and the type of a value that it makes without that library. */
const integrations = {
  "ai-sdk": ["ai", "typeof millraceTelemetry().onStart", "function"],
  anthropic: ["@anthropic-ai/sdk", "typeof wrapAnthropic({ fetch })", "object"],
  express: ["express", "typeof traceRequests()", "function"],
  fastify: ["fastify", "typeof traceRequests", "function"],
  fetch: [undefined, "typeof tracedFetch()", "function"],
  google: ["@google/genai", "typeof geminiOptions({}).httpOptions.fetch", "function"],
  hono: ["hono", "typeof traceRequests()", "function"],
  lambda: [undefined, "typeof traceHandler(() => 1)", "function"],
  langchain: ["@langchain/core/tools", "typeof toRunnableConfig(new RunTree({}))", "object"],
  mcp: [
    "@modelcontextprotocol/sdk/client/index.js",
    "typeof traceClient({ connect: async () => {} })",
    "object",
  ],
  openai: ["openai", "typeof wrapOpenAI({ fetch })", "object"],
  "openai-agents": ["@openai/agents", "typeof new MillraceTracingProcessor().shutdown", "function"],
  otel: ["@opentelemetry/api", "typeof millraceTracerProvider().getTracer", "function"],
  prompts: [undefined, "typeof chatPrompt([]).kwargs", "object"],
} as const;

test.each(Object.entries(integrations))(
  "without the library that it is for, millrace/%s can be imported and used",
  async (name, [library, expression, expectedType]) => {
    const program = join(installed.folder, `${name}.mjs`);
    const [imported] = /\b(?!typeof|new)[A-Za-z]+\b/.exec(expression) ?? [];
    await writeFile(
      program,
      `import { ${imported} } from "millrace/${name}";
       import { RunTree } from "millrace";
       const library = ${library === undefined ? "undefined" : `await import("${library}").catch(({ code }) => code)`};
       console.log(JSON.stringify([${expression}, new RunTree({}).name, library]));`,
    );
    const { stdout } = await run(process.execPath, [program]);
    expect(JSON.parse(stdout)).toEqual([
      expectedType,
      "chain",
      library === undefined ? null : "ERR_MODULE_NOT_FOUND",
    ]);
  },
);

test("without vitest, importing millrace/vitest fails with a sentence that names it, and the reporter can be imported", async () => {
  const program = join(installed.folder, "without-vitest.mjs");
  await writeFile(
    program,
    `const { default: Reporter } = await import("millrace/vitest/reporter");
     const message = await import("millrace/vitest").catch((error) => error.message);
     console.log(JSON.stringify([typeof new Reporter().onTestRunEnd, message]));`,
  );
  const { stdout } = await run(process.execPath, [program]);
  expect(JSON.parse(stdout)).toEqual([
    "function",
    expect.stringMatching(/^Cannot find package 'vitest' imported from/),
  ]);
});

test("an integration is listed above for each one that the package exports", async () => {
  const { exports } = parseManifest(
    await readFile(join(installed.packageFolder, "package.json"), "utf8"),
  );
  const exported = Object.entries(exports)
    .filter(([, target]) => JSON.stringify(target).includes("dist/integrations/"))
    .map(([path]) => path.slice(2));
  expect(exported.toSorted()).toEqual(Object.keys(integrations).toSorted());
});

const importsOf = (source: string): readonly string[] =>
  [...source.matchAll(/(?:^|[\s;}])(?:from|import)\s*\(?\s*"([^"\n]+)"/g)].flatMap(
    ([, name]) => name ?? [],
  );

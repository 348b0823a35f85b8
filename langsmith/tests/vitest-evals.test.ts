import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startServer } from "@millrace/server";
import { Client } from "millrace";
import { expect, onTestFinished, test } from "vitest";
import { readStory } from "./stored-story.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));
const evals = fileURLToPath(new URL("programs/vitest-evals.ts", import.meta.url));

interface JsonReport {
  readonly testResults: readonly {
    readonly assertionResults: readonly {
      readonly status: string;
      readonly ancestorTitles: readonly string[];
    }[];
  }[];
}

/** Runs the tests with a package in place of langsmith. Returns how they ended and what was stored. */
async function performTests(packageName: string, variables: Readonly<Record<string, string>> = {}) {
  const server = await startServer({ port: 0, dataDir: ":memory:" });
  await mkdir(join(root, "temp"), { recursive: true });
  const folder = await mkdtemp(join(root, "temp/vitest-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const config = {
    root,
    resolve: { alias: [{ find: "langsmith", replacement: packageName }] },
    test: {
      include: [evals],
      reporters: ["json"],
      outputFile: join(folder, "report.json"),
      watch: false,
    },
  };
  const configFile = join(folder, "vitest.config.mjs");
  await writeFile(configFile, `export default ${JSON.stringify(config)};`);
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  // Some of the tests fail, so vitest ends with 1.
  const code = await run(process.execPath, [vitest, "run", "--config", configFile], {
    cwd: root,
    env: {
      PATH: process.env["PATH"],
      LANGSMITH_ENDPOINT: server.url,
      LANGSMITH_API_KEY: "none",
      LANGSMITH_TRACING: "true",
      ...variables,
    },
  }).then(
    () => 0,
    (error: unknown) => (error as { readonly code?: unknown }).code,
  );
  const { default: report } = (await import(config.test.outputFile, {
    with: { type: "json" },
  })) as { readonly default: JsonReport };
  const client = new Client({ endpoint: server.url });
  const story = await readStory(client);
  await client.close();
  await server.close();
  return {
    code,
    statuses: report.testResults
      .flatMap(({ assertionResults }) => assertionResults)
      .map(({ status, ancestorTitles }) => `${ancestorTitles.join(" ")}: ${status}`)
      .toSorted(),
    ...story,
  };
}

test("tests of vitest end and store the same with @millrace/langsmith as with langsmith 0.10 and 0.12", async () => {
  const [moved, today, newest] = await Promise.all(
    ["@millrace/langsmith", "langsmith", "langsmith-0.12"].map((name) => performTests(name)),
  );
  expect(today?.code).toBe(1);
  expect(today?.projects).toHaveLength(2);
  expect(moved).toEqual(today);
  expect(moved).toEqual(newest);
}, 120_000);

test("with LANGSMITH_TEST_TRACKING=false no dataset and no experiment is stored, as with langsmith", async () => {
  const variables = { LANGSMITH_TEST_TRACKING: "false" };
  const [moved, real] = await Promise.all(
    ["@millrace/langsmith", "langsmith"].map((name) => performTests(name, variables)),
  );
  // Traced functions are still recorded. Langsmith may lose their runs, because the process of the tests ends first.
  expect(moved).toEqual({ ...real, projects: expect.anything() as unknown });
  expect(real?.datasets).toEqual([]);
  expect(moved?.projects).toMatchObject([{ name: "default", dataset: false }]);
}, 120_000);

test("the reporter alone prints which tests failed and why, as vitest's default one, and the scores", async () => {
  await mkdir(join(root, "temp"), { recursive: true });
  const folder = await mkdtemp(join(root, "temp/vitest-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const config = {
    root,
    resolve: { alias: [{ find: "langsmith", replacement: "@millrace/langsmith" }] },
    test: {
      include: [evals],
      reporters: [join(root, "langsmith/dist/entries/vitest-reporter.js")],
      watch: false,
    },
  };
  const configFile = join(folder, "vitest.config.mjs");
  await writeFile(configFile, `export default ${JSON.stringify(config)};`);
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  const failure: unknown = await run(process.execPath, [vitest, "run", "--config", configFile], {
    cwd: root,
    env: { PATH: process.env["PATH"], LANGSMITH_TEST_TRACKING: "false", NO_COLOR: "1" },
  }).catch((error: unknown) => error);
  const { stdout, stderr } = failure as { readonly stdout: string; readonly stderr: string };
  expect(stderr).toContain("FAIL");
  expect(stderr).toContain("AssertionError");
  expect(stdout).toMatch(/Test Files +1 failed/);
  expect(stdout).toMatch(/score +average/);
}, 60_000);

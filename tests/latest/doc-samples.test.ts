import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import * as ts from "typescript";
import { expect, onTestFinished, test } from "vitest";
import { blocksOf } from "../consumer/documented.ts";
import { repositoryRoot } from "../consumer/installed.ts";
import { latestPages } from "../consumer/sample-settings.ts";
import { runOwnServer } from "../../server/tests/support/running-server.ts";
import { startFakeOpenAi } from "./fake-openai.ts";
import type { Answer } from "./fake-openai.ts";

const run = promisify(execFile);

/** How the code of a page is run: all of its blocks as one program. */
interface PageSetting {
  readonly page: string;
  /** Code before the samples. */
  readonly before: string;
  /** Code after the samples. */
  readonly after: string;
  /** What the model answers. */
  readonly answers: readonly Answer[];
  /** What the program prints. Blocks of text in the page are part of it. */
  readonly prints: string;
}

/** Prints the tree of the runs of a project as the pages show it. */
const printTree = `
  await client.flush();
  const found = await client.runs.list({ projectNames: ["agents"] }).toArray();
  const sorted = found.toSorted((a, b) => (String(a.dottedOrder) < String(b.dottedOrder) ? -1 : 1));
  const printBelow = (parent: string | undefined, indent: string): void => {
    const children = sorted.filter(({ parentRunId }) => parentRunId === parent);
    for (const { id, name, runType } of children) {
      const isLast = id === children.at(-1)?.id;
      const type = ["llm", "tool"].includes(runType) ? " (" + runType + ")" : "";
      const branch = parent === undefined ? "" : isLast ? "└─ " : "├─ ";
      console.log(indent + branch + name + type);
      printBelow(id, parent === undefined ? "" : indent + (isLast ? "   " : "│  "));
    }
  };
  printBelow(undefined, "");
  await client.close();`;

const pageSettings: readonly PageSetting[] = [
  {
    page: "docs/openai-agents.md",
    // Otherwise the processor of the Agents SDK tries to send the traces to OpenAI.
    before: `import { setTraceProcessors } from "@openai/agents"; setTraceProcessors([]);`,
    after: printTree,
    answers: [[{ name: "weather", arguments: { city: "Bern" } }], "It rains in Bern."],
    prints: "It rains in Bern.",
  },
];

test("every page that only this test can run has its settings", () => {
  expect(pageSettings.map(({ page }) => page)).toEqual(latestPages);
});

test.each(pageSettings)(
  "the code of $page compiles, runs and prints what the page shows",
  async (setting) => {
    const blocks = await blocksOf(setting.page);
    const samples = blocks.filter(({ language }) => language === "ts").map(({ text }) => text);
    const texts = blocks.filter(({ language }) => language === "text").map(({ text }) => text);
    const source = [setting.before, ...samples, setting.after].join("\n");
    const folder = await createFolder();
    await writeFile(join(folder, "program.ts"), source);
    await writeFile(join(folder, "tsconfig.json"), JSON.stringify(compilerSettings));
    const compiler = join(repositoryRoot, "node_modules/typescript-7.0/bin/tsc");
    const compilerOutput = await run(process.execPath, [compiler, "--project", folder]).then(
      ({ stdout }) => stdout,
      (error: unknown) => (error as { readonly stdout: string }).stdout,
    );
    expect(compilerOutput).toBe("");

    const { url } = await runOwnServer();
    const { baseURL } = await startFakeOpenAi(setting.answers);
    const options = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023 };
    await writeFile(join(folder, "program.mjs"), ts.transpile(source, options));
    const { stdout, stderr } = await run(process.execPath, [join(folder, "program.mjs")], {
      env: {
        PATH: process.env["PATH"],
        MILLRACE_ENDPOINT: url,
        OPENAI_BASE_URL: baseURL,
        OPENAI_API_KEY: "none",
      },
    });
    expect(stderr).toBe("");
    expect(stdout).toBe([`${setting.prints}\n`, ...texts].join(""));
  },
);

/** A folder in which imports find the packages of `tests/latest`, and `millrace`. It is deleted after the test. */
async function createFolder(): Promise<string> {
  const parent = join(import.meta.dirname, "temp");
  await mkdir(parent, { recursive: true });
  const folder = await mkdtemp(join(parent, "samples-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const compilerSettings = {
  compilerOptions: {
    target: "es2023",
    module: "nodenext",
    lib: ["es2023", "esnext.disposable", "dom.iterable", "dom"],
    types: ["node"],
    typeRoots: [join(repositoryRoot, "node_modules/@types")],
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    noEmit: true,
  },
  include: ["*.ts"],
};

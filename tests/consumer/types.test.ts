import { execFile } from "node:child_process";
import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { installPacked, repositoryRoot } from "./installed.ts";
import type { Installed } from "./installed.ts";

const run = promisify(execFile);
const require = createRequire(import.meta.url);
let installed: Installed;

beforeAll(async () => {
  installed = await installPacked();
  await installed.link("@types/node");
});

afterAll(() => installed.remove());

interface Compiler {
  readonly release: string;
  readonly module: "nodenext" | "bundler";
  readonly types: "node" | "none";
}

/** Compiles a strict program that uses the installed package. Returns the compiler's output; an empty text on success. */
async function compile(options: Compiler): Promise<string> {
  const project = join(installed.folder, Object.values(options).join("-"));
  await mkdir(project);
  await copyFile(
    join(repositoryRoot, "tests/consumer/fixture/program.ts"),
    join(project, "program.ts"),
  );
  await writeFile(join(project, "package.json"), JSON.stringify({ type: "module" }));
  await writeFile(join(project, "tsconfig.json"), JSON.stringify(configOf(options)));
  const compiler = join(dirname(require.resolve(`${options.release}/package.json`)), "bin/tsc");
  return run(process.execPath, [compiler, "--project", project]).then(
    () => "",
    (error: unknown) => (hasOutput(error) ? error.stdout : String(error)),
  );
}

const configOf = ({ module, types }: Compiler): unknown => ({
  compilerOptions: {
    target: "es2022",
    module: module === "bundler" ? "esnext" : "nodenext",
    moduleResolution: module,
    ...(types === "node" ? { types: ["node"], lib: ["es2022"] } : { types: [] }),
    strict: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
    noEmit: true,
  },
  files: ["program.ts"],
});

const hasOutput = (error: unknown): error is { readonly stdout: string } =>
  typeof error === "object" && error !== null && "stdout" in error;

describe("a strict program, library types checked too, compiles", () => {
  test.concurrent.for([
    { release: "typescript-5.4", module: "nodenext", types: "node" },
    { release: "typescript-5.4", module: "bundler", types: "node" },
    { release: "typescript", module: "nodenext", types: "node" },
    { release: "typescript", module: "bundler", types: "node" },
    { release: "typescript-7.0", module: "nodenext", types: "node" },
    { release: "typescript-7.0", module: "bundler", types: "node" },
    { release: "typescript", module: "nodenext", types: "none" },
  ] as const)(
    "under $release, $module resolution, ambient types: $types",
    { timeout: 60_000 },
    async (options, { expect: expectHere }) => {
      expectHere(await compile(options)).toBe("");
    },
  );
});

test("a wrong use of the package does not compile", { timeout: 60_000 }, async () => {
  const options: Compiler = { release: "typescript", module: "nodenext", types: "node" };
  const project = join(installed.folder, "wrong");
  await mkdir(project);
  await writeFile(join(project, "package.json"), JSON.stringify({ type: "module" }));
  await writeFile(join(project, "tsconfig.json"), JSON.stringify(configOf(options)));
  await writeFile(
    join(project, "program.ts"),
    `import { version } from "millrace"; export const major: number = version;`,
  );
  const compiler = join(dirname(require.resolve("typescript/package.json")), "bin/tsc");
  await expect(run(process.execPath, [compiler, "--project", project])).rejects.toMatchObject({
    stdout: expect.stringContaining("TS2322") as unknown,
  });
});

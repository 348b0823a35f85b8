import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));
const programs = join(root, "langsmith/tests/programs");

/** The types of each entry point of a package, as the compiler option `paths`. */
async function pathsOf(packageName: string): Promise<Record<string, string[]>> {
  const folder = join(root, "node_modules", packageName);
  const { exports } = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as {
    readonly exports: Readonly<Record<string, unknown>>;
  };
  const paths = Object.fromEntries(
    Object.entries(exports)
      .map(([path, entry]): [string, string | undefined] => [path, findTypes(entry)])
      .filter(([, types]) => types !== undefined)
      .map(([path, types]) => [join("langsmith", path), [join(folder, types!)]]),
  );
  // For the entry points that langsmith 0.12 declares by a pattern, or without types.
  return { ...paths, "langsmith/*": [join(folder, "*.d.mts")] };
}

/** The types that an import gets, in whichever form a package declares them. */
function findTypes(entry: unknown): string | undefined {
  if (typeof entry === "string") {
    return /\.d\.m?ts$/.test(entry) ? entry : undefined;
  }
  if (typeof entry !== "object" || entry === null) {
    return undefined;
  }
  const conditions = entry as Readonly<Record<string, unknown>>;
  return ["import", "types", "default"]
    .map((name) => findTypes(conditions[name]))
    .find((types) => types !== undefined);
}

/** Compiles the programs with the types of a package. Returns the compiler's output; an empty text on success. */
async function compile(packageName: string): Promise<string> {
  await mkdir(join(root, "temp"), { recursive: true });
  const folder = await mkdtemp(join(root, "temp/compiled-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const names = await readdir(programs);
  const config = {
    compilerOptions: {
      target: "es2023",
      module: "nodenext",
      types: ["node"],
      strict: true,
      noUncheckedIndexedAccess: true,
      skipLibCheck: true,
      noEmit: true,
      paths: await pathsOf(packageName),
    },
    files: names.map((name) => join(programs, name)),
  };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
  const compiler = join(root, "node_modules/typescript-7.0/bin/tsc");
  return run(process.execPath, [compiler, "--project", folder]).then(
    () => "",
    (error: unknown) => String((error as { readonly stdout?: unknown }).stdout),
  );
}

test.each(["langsmith", "langsmith-0.12", "@millrace/langsmith"])(
  "programs that are written for langsmith compile with %s",
  async (packageName) => {
    expect(await compile(packageName)).toBe("");
  },
);

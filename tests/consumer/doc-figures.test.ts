import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { repositoryRoot } from "./installed.ts";

const read = (path: string): Promise<string> => readFile(join(repositoryRoot, path), "utf8");

const cellsOf = (row: string): readonly string[] =>
  row
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim());

/** Paths of all test files, and their names without the folder: a row may name its second file that way. */
async function testNames(): Promise<ReadonlySet<string>> {
  const folders = ["tests", "server/src", "server/tests", "cli/tests", "web/tests"];
  const names = await Promise.all(
    folders.map(async (folder) => {
      const found = await readdir(join(repositoryRoot, folder), { recursive: true });
      return found.flatMap((name) => [`${folder}/${name}`, name.split("/").at(-1) ?? name]);
    }),
  );
  return new Set(names.flat());
}

test("every fault in docs/guarantees.md names a test or command that reproduces it", async () => {
  const [, table = ""] = (await read("docs/guarantees.md")).split("### Individual faults");
  const rows = table
    .split("\n")
    .filter((line) => line.startsWith("|"))
    .slice(2);
  const [existingTests, manifest] = await Promise.all([testNames(), read("package.json")]);
  const scripts = Object.keys((JSON.parse(manifest) as { readonly scripts: object }).scripts);
  const invalidRows = rows.filter((row) => {
    const testCell = cellsOf(row).at(-1) ?? "";
    const files = [...testCell.matchAll(/[\w./-]+\.test\.ts/g)].map(([name]) => name);
    const commands = [...testCell.matchAll(/npm run ([\w:]+)/g)].map(([, name = ""]) => name);
    const isNamed = files.length + commands.length > 0;
    return (
      !isNamed ||
      files.some((name) => !existingTests.has(name)) ||
      commands.some((name) => !scripts.includes(name))
    );
  });
  expect(rows.length).toBeGreaterThan(30);
  expect(invalidRows).toEqual([]);
});

test("every soak result in docs/guarantees.md names a command that exists", async () => {
  const [, soak = ""] = (await read("docs/guarantees.md")).split("### Results");
  const rows = (soak.split("### ")[0] ?? "").split("\n").filter((line) => line.startsWith("| `"));
  expect(rows.length).toBeGreaterThan(0);
  expect(rows.filter((row) => !row.startsWith("| `npm run soak -- --minutes "))).toEqual([]);
});

test("docs/performance.md names only commands and tests that exist", async () => {
  const page = await read("docs/performance.md");
  const bench = JSON.parse(await read("bench/package.json")) as { readonly scripts: object };
  const named = [...page.matchAll(/npm --prefix bench run ([\w-]+)/g)].map(([, name = ""]) => name);
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((name) => !(name in bench.scripts))).toEqual([]);
  const files = [...page.matchAll(/`?([\w./-]+\.test\.ts)/g)].map(([, name = ""]) => name);
  expect(files.filter((name) => !existsSync(join(repositoryRoot, name)))).toEqual([]);
  // Logs of single measurements belong in bench/EXPERIMENTS.md.
  expect(page).not.toMatch(/\(a step|interleaved rounds\)|the whole, \d/);
});

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..", "..");
const soak = "tests/chaos/soak.test.ts";

interface Row {
  readonly id: string;
  /** Paths of test files, each with a part of a test title in that file. */
  readonly tests: readonly (readonly [string, string])[];
}

/** Separates references. Titles contain semicolons too, so the separator must be followed by the path of a test or by `soak`. */
const nextReference = /; (?=(?:tests|server|cli|web)\/|soak$)/;

function rows(): readonly Row[] {
  const table = readFileSync(join(import.meta.dirname, "faults.md"), "utf8");
  return table.split("\n").flatMap((line) => {
    const [, id, , shownBy = ""] = /^\| ([BFR]\d+) \| (.*?) \| (.*) \|$/.exec(line) ?? [];
    if (id === undefined) {
      return [];
    }
    const tests = shownBy.split(nextReference).map((reference): readonly [string, string] => {
      const at = reference.indexOf(": ");
      return at === -1 ? [soak, ""] : [reference.slice(0, at), reference.slice(at + 2)];
    });
    return [{ id, tests }];
  });
}

const numbered = (letter: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${letter}${index + 1}`);

test("the table in faults.md lists every fault once, in order", () => {
  expect(rows().map(({ id }) => id)).toEqual([
    ...numbered("F", 39),
    ...numbered("B", 20),
    ...numbered("R", 20),
  ]);
});

test.each(rows())("the tests named for $id exist", ({ tests }) => {
  const missing = tests.filter(([file, title]) => {
    const path = join(root, file);
    return !existsSync(path) || !readFileSync(path, "utf8").includes(title);
  });
  expect(missing).toEqual([]);
  expect(tests.length).toBeGreaterThan(0);
});

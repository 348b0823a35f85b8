import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix, relative } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
const packages = ["src", "server/src", "cli/src", "langsmith/src", "web/src"] as const;
/** A folder with more files than this can usually be divided into two. */
const maxFiles = 25;
/** File names that do not describe their content. */
const vagueNames = /^(?:utils?|helpers?|common|misc|types)\.tsx?$/;
/** The features of the UI that other features may import. */
const sharedFeatures = [
  "metrics",
  "projects",
  "runs",
  "trace",
  "datasets",
  "prompts",
  "jobs",
  "models",
  "comments",
];
/** Matches `import` and `export … from`, including types, and `import()`. */
const specifiers = /\b(?:from|import)\s*\(?\s*"(\.{1,2}\/[^"]+)"/g;

interface SourceFile {
  /** Relative to the package's source folder. */
  readonly path: string;
  /** Paths of files of the same package that it imports. */
  readonly imports: readonly string[];
}

function filesOf(folder: string): readonly SourceFile[] {
  const top = join(root, folder);
  const names = readdirSync(top, { recursive: true, encoding: "utf8" })
    .map((name) => name.replaceAll("\\", "/"))
    .filter((name) => /\.tsx?$/.test(name));
  const knownNames = new Set(names);
  return names.map((path) => {
    const text = readFileSync(join(top, path), "utf8");
    const imports = [...text.matchAll(specifiers)]
      .map(([, specifier = ""]) => posix.join(posix.dirname(path), specifier))
      .filter((target) => knownNames.has(target));
    return { path, imports };
  });
}

/** Imports between folders. A folder and its subfolders count as one. Tests may import any folder. */
function folderImports(files: readonly SourceFile[]): ReadonlyMap<string, ReadonlySet<string>> {
  const edges = new Map<string, Set<string>>();
  for (const { path, imports } of files.filter((file) => !file.path.includes("/tests/"))) {
    for (const target of imports) {
      const [from, to] = branches(dirname(path), dirname(target));
      if (from !== undefined && to !== undefined) {
        edges.set(from, (edges.get(from) ?? new Set()).add(to));
      }
    }
  }
  return edges;
}

/** The two sibling folders at which two paths diverge; empty if one path contains the other. */
function branches(from: string, to: string): readonly [string?, string?] {
  const [left, right] = [from.split("/"), to.split("/")];
  const at = left.findIndex((name, index) => name !== right[index]);
  const isWithin = at === -1 || right[at] === undefined || from === "." || to === ".";
  return isWithin ? [] : [left.slice(0, at + 1).join("/"), right.slice(0, at + 1).join("/")];
}

/** A path of imports from a folder back to itself; `undefined` if there is none. */
function cycleIn(edges: ReadonlyMap<string, ReadonlySet<string>>): readonly string[] | undefined {
  const done = new Set<string>();
  const walk = (folder: string, way: readonly string[]): readonly string[] | undefined => {
    if (way.includes(folder)) {
      return [...way.slice(way.indexOf(folder)), folder];
    }
    if (done.has(folder)) {
      return undefined;
    }
    done.add(folder);
    for (const next of edges.get(folder) ?? []) {
      const cycle = walk(next, [...way, folder]);
      if (cycle !== undefined) {
        return cycle;
      }
    }
    return undefined;
  };
  for (const folder of edges.keys()) {
    const cycle = walk(folder, []);
    if (cycle !== undefined) {
      return cycle;
    }
  }
  return undefined;
}

test("a cycle of folders is found, also through types, but none between a folder and its subfolders", () => {
  const file = (path: string, ...imports: readonly string[]): SourceFile => ({ path, imports });
  const cycle = cycleIn(folderImports([file("a/x.ts", "b/y.ts"), file("b/y.ts", "a/c/z.ts")]));
  expect(cycle).toEqual(["a", "b", "a"]);
  const nested = [file("a/x.ts", "a/c/z.ts"), file("a/c/z.ts", "a/x.ts"), file("x.ts", "a/x.ts")];
  expect(cycleIn(folderImports(nested))).toBeUndefined();
  const tested = [file("a/x.ts", "b/y.ts"), file("b/tests/y.test.ts", "b/y.ts", "a/x.ts")];
  expect(cycleIn(folderImports(tested))).toBeUndefined();
});

test.each(packages)("%s: folders import one another in one direction only", (folder) => {
  expect(cycleIn(folderImports(filesOf(folder)))).toBeUndefined();
});

test("a feature of the UI imports no other feature, except those that are shared", () => {
  const featureOf = (path: string): string => /^features\/([^/]+)/.exec(path)?.[1] ?? "";
  const forbidden = filesOf("web/src")
    .filter(({ path }) => featureOf(path) !== "")
    .flatMap(({ path, imports }) =>
      imports
        .filter((target) => ![featureOf(path), "", ...sharedFeatures].includes(featureOf(target)))
        .map((target) => `${path} imports ${target}`),
    );
  expect(forbidden).toEqual([]);
});

test("the UI formats numbers and times for English, not for the language of the browser", () => {
  const withoutLanguage = /\b(?:toLocale\w*|Intl\.\w+Format)\((?!\s*"en")/;
  const top = join(root, "web/src");
  const paths = filesOf("web/src").map(({ path }) => path);
  expect(
    paths.filter((path) => withoutLanguage.test(readFileSync(join(top, path), "utf8"))),
  ).toEqual([]);
});

test.each(packages)(
  "%s: no folder has too many files, and every file name describes its content",
  (folder) => {
    const counts = new Map<string, number>();
    const files = readdirSync(join(root, folder), { recursive: true, withFileTypes: true });
    const unnamed: string[] = [];
    for (const { name, parentPath } of files.filter((entry) => entry.isFile())) {
      const parent = relative(root, parentPath);
      counts.set(parent, (counts.get(parent) ?? 0) + 1);
      if (vagueNames.test(name)) {
        unnamed.push(join(parent, name));
      }
    }
    expect([...counts].filter(([, count]) => count > maxFiles)).toEqual([]);
    expect(unnamed).toEqual([]);
  },
);

test("each test file belongs to one project of vitest, so that a command runs it", () => {
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  const output = execFileSync(process.execPath, [vitest, "list", "--filesOnly", "--json"], {
    cwd: root,
    encoding: "utf8",
  });
  const listed = (JSON.parse(output) as readonly { readonly file: string }[])
    .map(({ file }) => relative(root, file))
    .filter((file) => /\.test\.tsx?$/.test(file));
  const written = execFileSync("git", ["ls-files", "*.test.ts", "*.test.tsx"], {
    cwd: root,
    encoding: "utf8",
  }).trim();
  expect(listed.toSorted()).toEqual(written.split("\n").toSorted());
});

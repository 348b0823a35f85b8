// Prints metrics of the code as a Markdown table: `npm run measure`. Numbers of files and lines exclude tests and
// generated code. A comment line is a line that contains only a comment.
import { readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import ts from "typescript";

const sourceFolders = ["src", "server/src", "cli/src", "langsmith/src", "web/src"];
const testFolders = ["tests", "server/tests", "cli/tests", "web/tests"];
const isTest = (path) => /\.(test|test-d)\.tsx?$/.test(path) || /(^|\/)tests\//.test(path);

const paths = [...sourceFolders, ...testFolders].flatMap((folder) => listCode(folder));
const sources = paths.filter((path) => !isTest(path)).map((path) => measure(path));
const tests = paths.filter((path) => isTest(path)).map((path) => measure(path));

const total = (files, field) => files.reduce((sum, file) => sum + file[field], 0);
const formatCount = (count) => count.toLocaleString("en-US");
const lengths = sources.map(({ lines }) => lines).toSorted((a, b) => a - b);
const longest = sources.reduce((a, b) => (b.lines > a.lines ? b : a));
const perThousand = (1_000 * total(sources, "anyCount")) / total(sources, "code");
const commentShare =
  total(sources, "comment") / (total(sources, "comment") + total(sources, "code"));

const folders = countByFolder(sources.map(({ path }) => path));
const rows = [
  ["files / lines", `${sources.length} / ${formatCount(total(sources, "lines"))}`],
  ["median / longest file", `${median(lengths)} / ${longest.lines} (${longest.path})`],
  ["files over 300 lines", sources.filter(({ lines }) => lines > 300).length],
  ["comment share of non-blank lines", `${(100 * commentShare).toFixed(0)}%`],
  ["`any` per 1,000 lines of code", perThousand.toFixed(1).replace(/\.0$/, "")],
  ["test lines per source line", (total(tests, "lines") / total(sources, "lines")).toFixed(2)],
  ["files of type tests", tests.filter(({ path }) => path.endsWith(".test-d.ts")).length],
  [
    "error classes / bare `new Error(`",
    `${total(sources, "errorClasses")} / ${total(sources, "bareErrors")}`,
  ],
  ["largest folder, by files", `${folders[0].count} (${folders[0].path})`],
  ["folders of more than 25 files", folders.filter(({ count }) => count > 25).length],
  ["files that one other file imports", countImportedOnce(sources.map(({ path }) => path))],
  ["`TODO` and `FIXME`", total(sources, "todos") + total(tests, "todos")],
];
console.log("| metric | value |\n| --- | --- |");
for (const row of rows) {
  console.log(`| ${row.join(" | ")} |`);
}

/** The folders, each with the number of files directly in it. The largest comes first. */
function countByFolder(files) {
  const counts = new Map();
  for (const path of files) {
    const folder = path.slice(0, path.lastIndexOf("/"));
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts]
    .map(([path, count]) => ({ path, count }))
    .toSorted((a, b) => b.count - a.count);
}

function countImportedOnce(files) {
  const knownPaths = new Set(files);
  const counts = new Map();
  for (const path of files) {
    const targets = [
      ...readFileSync(path, "utf8").matchAll(/\b(?:from|import)\s*\(?\s*"(\.[^"]+)"/g),
    ]
      .map(([, specifier]) => posix.join(posix.dirname(path), specifier))
      .filter((target) => knownPaths.has(target));
    for (const target of new Set(targets)) {
      counts.set(target, (counts.get(target) ?? 0) + 1);
    }
  }
  return [...counts.values()].filter((count) => count === 1).length;
}

function listCode(folder) {
  try {
    return readdirSync(folder, { recursive: true })
      .map((path) => `${folder}/${path.replaceAll("\\", "/")}`)
      .filter((path) => /\.tsx?$/.test(path) && !/node_modules|\/dist\/|\.gen\./.test(path));
  } catch (error) {
    if (error.code === "ENOENT") {
      return [];
    }
    throw error;
  }
}

function median(sorted) {
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1
    ? sorted[middle]
    : Math.round((sorted[middle - 1] + sorted[middle]) / 2);
}

function measure(path) {
  const text = readFileSync(path, "utf8");
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const lines = text.split("\n");
  const codeLines = new Set();
  const counts = { anyCount: 0, errorClasses: 0, bareErrors: 0 };
  visit(file);
  const nonBlankLines = lines.flatMap((line, index) => (line.trim() === "" ? [] : [index]));
  return {
    path,
    lines: text.endsWith("\n") ? lines.length - 1 : lines.length,
    code: nonBlankLines.filter((index) => codeLines.has(index)).length,
    comment: nonBlankLines.filter((index) => !codeLines.has(index)).length,
    todos: text.match(/\b(TODO|FIXME)\b/g)?.length ?? 0,
    ...counts,
  };

  function visit(node) {
    if (ts.isJSDoc(node)) {
      return;
    }
    counts.anyCount += node.kind === ts.SyntaxKind.AnyKeyword ? 1 : 0;
    counts.bareErrors +=
      ts.isNewExpression(node) && node.expression.getText(file) === "Error" ? 1 : 0;
    counts.errorClasses += isErrorClass(node) ? 1 : 0;
    const children = node.getChildren(file);
    if (children.length === 0 && node.kind !== ts.SyntaxKind.EndOfFileToken) {
      markLines(node);
    }
    children.forEach(visit);
  }

  function markLines(token) {
    const first = file.getLineAndCharacterOfPosition(token.getStart(file)).line;
    const last = file.getLineAndCharacterOfPosition(token.getEnd()).line;
    for (let line = first; line <= last; line += 1) {
      codeLines.add(line);
    }
  }
}

function isErrorClass(node) {
  const parent = ts.isClassDeclaration(node) ? node.heritageClauses?.[0]?.types[0] : undefined;
  return parent?.expression.getText().endsWith("Error") ?? false;
}

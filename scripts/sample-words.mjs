// Draws comments, identifiers and UI texts at random, each with the lines around it, so that a reader who has never
// seen the project can judge them: `node scripts/sample-words.mjs --seed 1 --count 60`. The same seed draws the same
// samples.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import ts from "typescript";

const root = fileURLToPath(new URL("..", import.meta.url));
const { values } = parseArgs({
  options: { seed: { type: "string", default: "1" }, count: { type: "string", default: "60" } },
});

/** Lines of context before and after a sample. */
const contextLines = 6;
/** If a sample is inside a declaration, at most this many lines of the declaration's beginning are shown above it. */
const headLines = 12;
const uiAttributes = new Set([
  "title",
  "label",
  "aria-label",
  "placeholder",
  "about",
  "description",
  "hint",
]);

const sourceFiles = () =>
  execFileSync("git", ["ls-files", "src", "server/src", "cli/src", "langsmith/src", "web/src"], {
    cwd: root,
    encoding: "utf8",
  })
    .split("\n")
    .filter((path) => /\.tsx?$/.test(path) && !/-module\.ts$|\/tests\//.test(path));

/** All samples of one file, by kind. */
const samplesIn = (path) => {
  const text = readFileSync(new URL(`../${path}`, import.meta.url), "utf8");
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const samples = { comment: [], identifier: [], "UI text": [] };
  const add = (kind, value, position) =>
    samples[kind].push({
      kind,
      value,
      path,
      line: lineAt(file, position),
      head: headOf(file, position),
    });

  const seen = new Set();
  const visit = (node) => {
    for (const { pos, end } of wholeComments(text, node)) {
      if (!seen.has(pos)) {
        seen.add(pos);
        add("comment", text.slice(pos, end), pos);
      }
    }
    if (ts.isIdentifier(node) && isDeclared(node)) {
      add("identifier", node.text, node.getStart());
    }
    const uiText = uiTextOf(node);
    if (uiText !== undefined && /[a-z]{3}/i.test(uiText)) {
      add("UI text", uiText.trim(), node.getStart());
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return samples;
};

/** The comments before a node. Consecutive lines that each begin with `//` are one comment. */
const wholeComments = (text, node) => {
  const comments = [];
  for (const { kind, pos, end } of ts.getLeadingCommentRanges(text, node.getFullStart()) ?? []) {
    const previous = comments.at(-1);
    const isLine = kind === ts.SyntaxKind.SingleLineCommentTrivia;
    if (isLine && previous?.isLine && /^\n[ \t]*$/.test(text.slice(previous.end, pos))) {
      previous.end = end;
    } else {
      comments.push({ pos, end, isLine });
    }
  }
  return comments;
};

/**
 * The comment and the first lines of the outermost declaration around a position, up to its body. A reader who reaches
 * a line inside the declaration has read them.
 */
const headOf = (file, position) => {
  const declaration = file.statements.find(
    (statement) => statement.pos <= position && position < statement.end,
  );
  if (declaration === undefined) {
    return { first: 0, last: 0 };
  }
  const [comment] = ts.getLeadingCommentRanges(file.text, declaration.getFullStart()) ?? [];
  const first = lineAt(file, comment?.pos ?? declaration.getStart());
  return { first, last: lineAt(file, declaration.getStart()) };
};

const lineAt = (file, position) => file.getLineAndCharacterOfPosition(position).line + 1;

/** Whether an identifier of two letters or more is declared here. */
const isDeclared = ({ text, parent }) =>
  text.length > 1 &&
  parent.name?.text === text &&
  (ts.isFunctionDeclaration(parent) ||
    ts.isClassDeclaration(parent) ||
    ts.isMethodDeclaration(parent) ||
    ts.isInterfaceDeclaration(parent) ||
    ts.isTypeAliasDeclaration(parent) ||
    ts.isPropertySignature(parent) ||
    ts.isPropertyDeclaration(parent) ||
    ts.isParameter(parent) ||
    ts.isVariableDeclaration(parent));

const uiTextOf = (node) => {
  if (ts.isJsxText(node)) {
    return node.text;
  }
  const isUiAttribute =
    ts.isStringLiteral(node) &&
    ts.isJsxAttribute(node.parent) &&
    uiAttributes.has(node.parent.name.getText());
  return isUiAttribute ? node.text : undefined;
};

/** Generates numbers of at least 0 and less than 1 from the seed, with the algorithm mulberry32. */
const createRandom = (seed) => {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

const random = createRandom(Number(values.seed));
const draw = (pool, count) =>
  Array.from(
    { length: Math.min(count, pool.length) },
    () => pool.splice(Math.floor(random() * pool.length), 1)[0],
  );

const byFile = sourceFiles().map(samplesIn);
const perKind = Math.floor(Number(values.count) / 3);
const drawn = ["comment", "identifier", "UI text"].flatMap((kind) =>
  draw(
    byFile.flatMap((samples) => samples[kind]),
    perKind,
  ),
);
for (const [index, { kind, value, path, line, head }] of drawn.entries()) {
  const lines = readFileSync(new URL(`../${path}`, import.meta.url), "utf8").split("\n");
  const from = Math.max(0, line - 1 - contextLines);
  const height = value.split("\n").length;
  const headEnd = Math.min(head.last, head.first - 1 + headLines, from);
  const context = [
    ...lines.slice(Math.max(0, head.first - 1), headEnd),
    ...(headEnd < from ? ["..."] : []),
    ...lines.slice(from, line - 1 + height + contextLines),
  ].join("\n");
  console.log(
    `=== ${index + 1}. ${kind}, ${path}:${line}\n${value}\n--- in its context\n${context}\n`,
  );
}

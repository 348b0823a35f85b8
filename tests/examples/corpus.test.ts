import { mkdtempSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readCorpus, splitSections } from "../../examples/ask-the-docs/corpus.ts";
import { Library } from "../../examples/ask-the-docs/search.ts";

const paragraph = "A sentence that is long enough to fill a section with text. ".repeat(20);

let root = "";
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "millrace-corpus-"));
});
afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

const write = (path: string, text: string): void => {
  const file = join(root, path);
  mkdirSync(join(file, ".."), { recursive: true });
  writeFileSync(file, text);
};

test("a text is divided at its headings, and every section has its title and line", () => {
  const text = `# One\n${paragraph}\n## [Two](x) \`code\`\n${paragraph}\n`;
  expect(splitSections(text).map(({ title, line }) => ({ title, line }))).toEqual([
    { title: "One", line: 1 },
    { title: "Two code", line: 3 },
  ]);
});

test("a heading inside a code block does not start a section", () => {
  const text = `# One\n${paragraph}\n\`\`\`sh\n# a comment\n\`\`\`\n${paragraph}\n`;
  expect(splitSections(text)).toHaveLength(1);
});

test("a short section is joined to the one before, and no text is lost", () => {
  const text = `# One\n${paragraph}\n# Two\nshort\n`;
  const sections = splitSections(text);
  expect(sections).toHaveLength(1);
  expect(sections[0]?.text).toContain("short");
});

test("a long section is cut, so that none exceeds its bound by more than a line", () => {
  const lengths = splitSections(`# One\n${`${paragraph}\n`.repeat(30)}`).map(
    ({ text }) => text.length,
  );
  expect(lengths.length).toBeGreaterThan(3);
  expect(Math.max(...lengths)).toBeLessThan(8_000 + paragraph.length + 2);
});

test("the corpus is the Markdown below a folder, in the same order every time, links left out", () => {
  write("b.md", `# B\n${paragraph}`);
  write("node_modules/a/README.md", `# A\n${paragraph}`);
  write("node_modules/a/index.js", paragraph);
  write(".hidden/c.md", `# C\n${paragraph}`);
  write("large.md", `# L\n${paragraph.repeat(200)}`);
  symlinkSync(join(root, "node_modules/a"), join(root, "node_modules/link"));
  const paths = readCorpus(root).map(({ path }) => path);
  expect(paths).toEqual(["b.md", "node_modules/a/README.md"]);
});

test("a question finds the matching section, and whole files stay below their limit", () => {
  const filler = (word: string): string => `# About ${word}\n${`${word} `.repeat(400)}\n`;
  write("many.md", Array.from({ length: 60 }, () => filler("needle")).join(""));
  write("other.md", filler("haystack"));
  const library = new Library(readCorpus(root));
  expect(library.find("What is a haystack?", 1)[0]?.path).toBe("other.md");
  const bytes = library.findFiles("needle").reduce((sum, { text }) => sum + text.length, 0);
  expect(bytes).toBeGreaterThan(50_000);
  expect(bytes).toBeLessThanOrEqual(80_000);
});

import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative, sep } from "node:path";

/** One section of a Markdown file: what the retriever finds and the answerer quotes. */
export interface Section {
  readonly id: number;
  /** Relative to the project, with forward slashes. */
  readonly path: string;
  readonly title: string;
  /** Of the section's first line in its file; the first line of a file is 1. */
  readonly line: number;
  readonly text: string;
}

const fileLimit = 3_000;
const fileSizeBytes = 200_000;
/** Shorter sections are joined to the one before: a heading alone answers nothing. */
const sectionMinLength = 1_000;
const sectionMaxLength = 8_000;

/** Reads the Markdown below `root`, its installed packages included, always in the same order. */
export const readCorpus = (root: string): Section[] => {
  const sections: Section[] = [];
  for (const file of findMarkdown(root).slice(0, fileLimit)) {
    const path = relative(root, file).split(sep).join("/");
    for (const part of splitSections(readFileSync(file, "utf8"))) {
      sections.push({ id: sections.length, path, ...part });
    }
  }
  return sections;
};

const findMarkdown = (root: string): string[] => {
  const found: string[] = [];
  const folders = [root];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      // Links, such as a workspace in node_modules, are neither: their target is met on its own.
      if (entry.isDirectory() && !entry.name.startsWith(".")) {
        folders.push(path);
      }
      if (entry.isFile() && isWanted(path)) {
        found.push(path);
      }
    }
  }
  return found.toSorted();
};

const isWanted = (path: string): boolean =>
  path.toLowerCase().endsWith(".md") && statSync(path).size <= fileSizeBytes;

/** Cuts a Markdown text at its headings; too short sections are joined, too long ones cut. */
export const splitSections = (text: string): Omit<Section, "id" | "path">[] => {
  const sections: { title: string; line: number; text: string }[] = [];
  let isCode = false;
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.startsWith("```")) {
      isCode = !isCode;
    }
    const heading = isCode ? undefined : /^#{1,4}\s+(.+?)[\s#]*$/.exec(line)?.[1];
    const current = sections.at(-1);
    const isFull = current !== undefined && current.text.length >= sectionMinLength;
    const isLong = current !== undefined && current.text.length >= sectionMaxLength;
    if (current === undefined || (isFull && heading !== undefined) || isLong) {
      const title = plainText(heading ?? current?.title ?? line);
      sections.push({ title, line: index + 1, text: `${line}\n` });
    } else {
      current.text += `${line}\n`;
    }
  }
  const last = sections.at(-1);
  if (last !== undefined && last.text.length < sectionMinLength) {
    sections.pop();
    const previous = sections.at(-1);
    if (previous !== undefined) {
      previous.text += last.text;
    }
  }
  return sections;
};

/** A heading without its links, images, code marks and version stamps. */
const plainText = (heading: string): string =>
  heading
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/<[^>]*>|[`*_#\\]/g, "")
    .trim()
    .slice(0, 120);

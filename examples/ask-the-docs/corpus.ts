import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative, sep } from "node:path";

/** One section of a Markdown file: the unit that the retriever finds and the model quotes. */
export interface Section {
  readonly id: number;
  /** Path of the file relative to the project, with forward slashes. */
  readonly path: string;
  readonly title: string;
  /** Number of the section's first line in the file, from 1. */
  readonly line: number;
  readonly text: string;
}

const fileLimit = 3_000;
const fileSizeBytes = 200_000;
/** Shorter sections are joined with the previous one, because a heading alone answers no question. In characters. */
const sectionMinLength = 1_000;
const sectionMaxLength = 8_000;

/** Reads the Markdown files below `root`, including those of installed packages, in a stable order. */
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
  const files: string[] = [];
  const folders = [root];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      // A symbolic link is neither a directory nor a file here. The target of a workspace link is found by itself.
      if (entry.isDirectory() && !entry.name.startsWith(".")) {
        folders.push(path);
      }
      if (entry.isFile() && isIndexed(path)) {
        files.push(path);
      }
    }
  }
  return files.toSorted();
};

const isIndexed = (path: string): boolean =>
  path.toLowerCase().endsWith(".md") && statSync(path).size <= fileSizeBytes;

/**
 * Splits a Markdown text at its headings. Sections that are too short are joined, and those that are too long are
 * split.
 */
export const splitSections = (text: string): Omit<Section, "id" | "path">[] => {
  const sections: { title: string; line: number; text: string }[] = [];
  let isCode = false;
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.startsWith("```")) {
      isCode = !isCode;
    }
    const heading = isCode ? undefined : /^#{1,4}\s+(.+?)[\s#]*$/.exec(line)?.[1];
    const current = sections.at(-1);
    const isLongEnough = current !== undefined && current.text.length >= sectionMinLength;
    const isTooLong = current !== undefined && current.text.length >= sectionMaxLength;
    if (current === undefined || (isLongEnough && heading !== undefined) || isTooLong) {
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

/** The text of a heading without Markdown links, images, HTML tags and formatting characters. */
const plainText = (heading: string): string =>
  heading
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/<[^>]*>|[`*_#\\]/g, "")
    .trim()
    .slice(0, 120);

import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** Minimum number of characters to read from a quoted line on. */
const excerptLength = 1_200;

/** Reads lines of a file, from `line` on until there are enough characters. */
export const readFileLines = async (root: string, path: string, line: number): Promise<string> => {
  const lines = (await readFile(join(root, path), "utf8")).split("\n").slice(line - 1);
  let end = 0;
  for (let length = 0; length < excerptLength && end < lines.length; end += 1) {
    length += lines[end]?.length ?? 0;
  }
  return lines.slice(0, end).join("\n");
};

/** Counts the different words of a text. Throws a RangeError for a language that does not exist. */
export const countWords = (text: string, language: string): number =>
  new Set(text.toLocaleLowerCase(language).match(/\p{L}+/gu)).size;

/** The numbers of the sources that an answer cites, without duplicates. */
export const parseCitations = (answer: string): number[] => [
  ...new Set([...answer.matchAll(/\[(\d{1,3})\]/g)].map((match) => Number(match[1]))),
];

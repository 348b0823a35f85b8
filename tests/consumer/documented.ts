import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { repositoryRoot } from "./installed.ts";

export interface DocumentedCommand {
  readonly page: string;
  /** The command as written, including comments and continued lines. */
  readonly text: string;
  /** The `export` lines before it in the same block. */
  readonly exports: string;
  readonly kind: "block" | "inline";
}

/** A fenced block of a page. */
export interface DocumentedBlock {
  readonly page: string;
  /** Line of the opening fence, counted from 1. */
  readonly line: number;
  /** The language after the fence; empty if there is none. */
  readonly language: string;
  readonly text: string;
}

/** Every Markdown page of the repository, except the changelogs, which describe earlier states. */
export async function documentedPages(): Promise<readonly string[]> {
  const folders = ["docs", "examples"].map((name) =>
    readdir(join(repositoryRoot, name), { recursive: true }),
  );
  const [docs = [], examples = []] = await Promise.all(folders);
  const shallow = ["", "server", "cli", "langsmith", "web", "bench"].map(async (folder) =>
    (await readdir(join(repositoryRoot, folder))).map((name) => join(folder, name)),
  );
  const all = [
    ...(await Promise.all(shallow)).flat(),
    ...docs.map((name) => join("docs", name)),
    ...examples.map((name) => join("examples", name)),
  ];
  return all
    .filter((path) => path.endsWith(".md") && !path.endsWith("CHANGELOG.md"))
    .map((path) => path.replaceAll("\\", "/"))
    .toSorted();
}

/** The code blocks of a page, including indented ones. */
export async function blocksOf(page: string): Promise<readonly DocumentedBlock[]> {
  const text = await readFile(join(repositoryRoot, page), "utf8");
  const blocks = [...text.matchAll(/^( *)```(.*)\n([^]*?)^ *```$/gm)];
  return blocks.map(({ index, 1: indent = "", 2: language = "", 3: block = "" }) => ({
    page,
    line: text.slice(0, index).split("\n").length,
    language,
    text: block.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
  }));
}

/** The commands of a page: each line of its shell blocks, and commands within sentences. */
export async function commandsOf(page: string): Promise<readonly DocumentedCommand[]> {
  const text = await readFile(join(repositoryRoot, page), "utf8");
  const blocks = (await blocksOf(page)).filter(({ language }) => language === "sh");
  const prose = text.replaceAll(/^```[^]*?^```/gm, "");
  const inline = [...prose.matchAll(/`((?:npx|npm|node|millrace) [^`\n]+)`/g)];
  return [
    ...blocks.flatMap((block) => commandsOfBlock(page, block.text)),
    ...inline.map(([, command = ""]): DocumentedCommand => ({
      page,
      text: command,
      exports: "",
      kind: "inline",
    })),
  ];
}

function commandsOfBlock(page: string, block: string): readonly DocumentedCommand[] {
  const lines = block.replaceAll("\\\n", " ").split("\n");
  const commands = lines.filter((line) => line.trim() !== "" && !line.startsWith("#"));
  const isExport = (line: string): boolean => line.startsWith("export ");
  return commands.flatMap((text, at): readonly DocumentedCommand[] =>
    isExport(text)
      ? []
      : [{ page, text, exports: commands.slice(0, at).filter(isExport).join("\n"), kind: "block" }],
  );
}

/** Splits a line into its joined commands, and removes the comment. */
export const partsOf = (line: string): readonly string[] =>
  line
    .replace(/\s+#.*$/, "")
    .split(/\s*(?:&&|;)\s*/)
    .map((part) => part.trim());

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { repositoryRoot } from "./installed.ts";

/** A command that a page tells its reader to run. */
export interface DocumentedCommand {
  readonly page: string;
  /** As written, comments and continued lines included. */
  readonly text: string;
  /** What the lines of the same block before it leave in the environment. */
  readonly exports: string;
  readonly kind: "block" | "inline";
}

/** The pages that users read, and those that the packages carry. */
export async function documentedPages(): Promise<readonly string[]> {
  const docs = (await readdir(join(repositoryRoot, "docs"))).filter((name) => name.endsWith(".md"));
  const packages = ["README.md", "CONTRIBUTING.md", "server/README.md", "cli/README.md"];
  return [...packages, "bench/README.md", ...docs.toSorted().map((name) => `docs/${name}`)];
}

/** The commands of a page: each line of its blocks of shell, and those within its sentences. */
export async function commandsOf(page: string): Promise<readonly DocumentedCommand[]> {
  const text = await readFile(join(repositoryRoot, page), "utf8");
  const blocks = [...text.matchAll(/^```(?:sh|bash|shell|console)\n([^]*?)^```/gm)];
  const prose = text.replaceAll(/^```[^]*?^```/gm, "");
  const inline = [...prose.matchAll(/`((?:npx|npm|node|millrace) [^`\n]+)`/g)];
  return [
    ...blocks.flatMap(([, block = ""]) => commandsOfBlock(page, block)),
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

/** Each of the commands that one line joins, without its comment. */
export const partsOf = (line: string): readonly string[] =>
  line
    .replace(/\s+#.*$/, "")
    .split(/\s*(?:&&|;)\s*/)
    .map((part) => part.trim());

import type { Command } from "commander";
import { addServerFlags } from "./server-flags.ts";
import type { ServerFlags } from "./server-flags.ts";

export interface DownloadFlags extends ServerFlags {
  readonly dataset: string;
  readonly asOf?: string;
  readonly split?: readonly string[];
  readonly format: string;
  readonly output?: string;
  readonly gzip?: true;
  readonly zstd?: true;
}

/** Adds `millrace download`. */
export function addDownload(program: Command): void {
  const command = program
    .command("download")
    .description("Write the examples of a dataset, or of a version or split of it, to a file.")
    .requiredOption("--dataset <name>", "the dataset: its name, or its id")
    .option("--as-of <version>", "a version: its time as ISO 8601, or a tag; left out: the newest")
    .option("--split <name...>", "only those of these splits")
    .requiredOption("--format <format>", "csv, jsonl or parquet")
    .option("--output <file>", "where to; left out: standard output")
    .option("--gzip", "packed")
    .option("--zstd", "packed, by Node 22.15 or newer");
  addServerFlags(command).action(async (flags: DownloadFlags) => {
    const { download } = await import("./run-download.ts");
    await download(flags);
  });
}

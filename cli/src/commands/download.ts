import type { Command } from "commander";
import { addExamples } from "../examples.ts";
import { addServerFlags } from "../local-server/server-flags.ts";
import type { DownloadFlags } from "../transfers/run-download.ts";

/** Adds `millrace download`. */
export function addDownload(program: Command): void {
  const command = program
    .command("download")
    .description("Write the examples of a dataset, or of a version or split of it, to a file.")
    .requiredOption("--dataset <name>", "name or id of the dataset")
    .option("--as-of <version>", "version: its time as ISO 8601, or a tag (default: the newest)")
    .option("--split <name...>", "only examples of these splits")
    .option("--format <format>", "csv, jsonl or parquet (default: as the name of --output ends)")
    .option("--output <file>", "file to write (default: standard output, which needs --format)")
    .option("--gzip", "pack with gzip (default for a file called .gz)")
    .option("--zstd", "pack with zstd, from Node 22.15 on (default for a file called .zst)");
  addExamples(command, [
    "millrace download --dataset questions --output questions.csv",
    "millrace download --dataset questions --as-of prod --split test --output test.parquet",
    "millrace download --dataset questions --format jsonl | head",
  ]);
  addServerFlags(command).action(async (flags: DownloadFlags) => {
    const { download } = await import("../transfers/run-download.ts");
    await download(flags);
  });
}

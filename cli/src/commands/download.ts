import type { Command } from "commander";
import { addHelpExamples } from "../examples.ts";
import { addServerFlags } from "../local-server/server-flags.ts";
import type { DownloadFlags } from "../transfers/run-download.ts";

export function addDownload(program: Command): void {
  const command = program
    .command("download")
    .description("Download the examples of a dataset, or the runs of a project, to a file.")
    .option("--dataset <name>", "name or id of the dataset")
    .option("--as-of <version>", "version: an ISO 8601 time or a tag (default: the latest)")
    .option("--split <name...>", "only examples of these splits")
    .option("--project <name>", "name or id of the project whose runs are downloaded, as jsonl")
    .option("--all", "all runs of the project, not only the roots of traces")
    .option("--filter <filter>", "only examples or runs that match, such as 'latency > 5s'")
    .option("--format <format>", "csv, jsonl or parquet (default: from the extension of --output)")
    .option(
      "--output <file>",
      "file to write (default: standard output, which requires --format for a dataset)",
    )
    .option("--gzip", "compress with gzip (default for a .gz file)")
    .option("--zstd", "compress with zstd, which needs Node 22.15 (default for a .zst file)");
  addHelpExamples(command, [
    "millrace download --dataset questions --output questions.csv",
    "millrace download --dataset questions --as-of prod --split test --output test.parquet",
    "millrace download --dataset questions --format jsonl | head",
    "millrace download --project support --filter 'latency > 5s' --output runs.jsonl",
    "millrace download --project support --all --filter 'model = gpt-5' | head",
  ]);
  addServerFlags(command).action(async (flags: DownloadFlags) => {
    const { download } = await import("../transfers/run-download.ts");
    await download(flags);
  });
}

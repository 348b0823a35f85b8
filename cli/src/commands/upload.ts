import type { Command } from "commander";
import { addHelpExamples } from "../examples.ts";
import { addServerFlags } from "../local-server/server-flags.ts";
import type { UploadFlags } from "../transfers/run-upload.ts";

/** Adds `millrace upload`. `onPartialSuccess` is called if rows were rejected. */
export function addUpload(program: Command, onPartialSuccess: () => void): void {
  const command = program
    .command("upload")
    .description("Upload rows of CSV, JSONL or Parquet files (also .gz or .zst) to a dataset.")
    .argument("<file...>", "paths, glob patterns, or - for standard input")
    .option("--dataset <name>", "name or id of the dataset")
    .option("--create", "create the dataset if it does not exist")
    .option("--resource <resource>", "kind of rows: examples, feedback or runs", "examples")
    .option("--project <name>", "project of runs that don't name one")
    .option("--format <format>", "csv, jsonl or parquet (default: from the file's extension)")
    .option("--delimiter <text>", "delimiter of a CSV (default: a comma, or a tab for .tsv)")
    .option(
      "--inputs <columns>",
      "columns that become inputs, such as a,b (default: all columns that no other option uses)",
    )
    .option("--outputs <columns>", "columns that become outputs")
    .option("--metadata <columns>", "columns that become metadata")
    .option("--split <column>", "column with a split, or a list of splits")
    .option("--id <column>", "column that identifies a row, so that it is created only once")
    .option("--no-id", "identify a row by its content, even if a column is named id")
    .option("--types <types>", "types of CSV columns, such as a:number,b:json,c:boolean,d:text")
    .option("--map <file>", "JSON file with the column mapping; the options above override it")
    .option("--dry-run", "check the rows without uploading them")
    .option(
      "--checkpoint <file>",
      "file that records the progress, to resume from (default: next to the source)",
    )
    .option("--no-checkpoint", "don't record the progress")
    .option("--ordered", "create rows in file order, one request at a time")
    .option("--chunk-count <rows>", "maximum rows per request")
    .option("--chunk-bytes <bytes>", "maximum bytes per request")
    .option("--in-flight <requests>", "maximum concurrent requests")
    .option("--json", "print the result as JSON");
  addHelpExamples(command, [
    "millrace upload questions.csv --dataset questions --create --outputs answer",
    "millrace upload 'parts/*.parquet' --dataset questions --map mapping.json",
    "millrace upload rows.jsonl.gz --dataset questions --dry-run",
    "gzip -dc rows.jsonl.gz | millrace upload - --format jsonl --dataset questions",
    "millrace upload runs.jsonl --resource runs --project imported",
  ]);
  addServerFlags(command).action(async (files: readonly string[], flags: UploadFlags) => {
    // Load this module on demand, because only this command needs the file readers and the uploader.
    const { upload } = await import("../transfers/run-upload.ts");
    if ((await upload(files, flags)) > 0) {
      onPartialSuccess();
    }
  });
}

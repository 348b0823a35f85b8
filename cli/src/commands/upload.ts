import type { Command } from "commander";
import { addExamples } from "../examples.ts";
import { addServerFlags } from "../local-server/server-flags.ts";
import type { UploadFlags } from "../transfers/run-upload.ts";

/** Adds `millrace upload`. `onPartial` hears that some rows were rejected. */
export function addUpload(program: Command, onPartial: () => void): void {
  const command = program
    .command("upload")
    .description("Upload rows of CSV, JSONL or Parquet files, also packed, to a dataset.")
    .argument("<file...>", "paths, patterns, or - for standard input")
    .option("--dataset <name>", "name or id of the dataset")
    .option("--create", "create the dataset where there is none of that name")
    .option("--noun <noun>", "what the rows are: examples, feedback or runs", "examples")
    .option("--project <name>", "project of runs that name none")
    .option("--format <format>", "csv, jsonl or parquet (default: as the file's name ends)")
    .option("--delimiter <text>", "separator of a CSV (default: a comma, for .tsv a tab)")
    .option("--inputs <columns>", "columns that become inputs, such as a,b (default: all others)")
    .option("--outputs <columns>", "columns that become outputs")
    .option("--metadata <columns>", "columns that become metadata")
    .option("--split <column>", "column that holds a split, or a list of splits")
    .option("--id <column>", "column that identifies a row, so that it is created once")
    .option("--no-id", "identify a row by its content, also where a column is called id")
    .option("--types <types>", "types of CSV columns: a:number,b:json,c:boolean,d:text")
    .option("--map <file>", "JSON file with all of these")
    .option("--dry-run", "check the rows and send nothing")
    .option("--checkpoint <file>", "file that keeps the progress (default: beside the source)")
    .option("--no-checkpoint", "keep no progress")
    .option("--ordered", "create rows in their order, one request after the other")
    .option("--chunk-count <rows>", "rows of one request")
    .option("--chunk-bytes <bytes>", "bytes of one request")
    .option("--in-flight <requests>", "requests under way at once")
    .option("--json", "print the result as JSON");
  addExamples(command, [
    "millrace upload questions.csv --dataset questions --create --outputs answer",
    "millrace upload 'parts/*.parquet' --dataset questions --map mapping.json",
    "millrace upload rows.jsonl.gz --dataset questions --dry-run",
    "gzip -dc rows.jsonl.gz | millrace upload - --format jsonl --dataset questions",
    "millrace upload runs.jsonl --noun runs --project imported",
  ]);
  addServerFlags(command).action(async (files: readonly string[], flags: UploadFlags) => {
    // What reads files and what sends them is loaded by who uploads.
    const { upload } = await import("../transfers/run-upload.ts");
    if ((await upload(files, flags)) > 0) {
      onPartial();
    }
  });
}

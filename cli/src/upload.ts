import type { Command } from "commander";
import type { MappingFlags } from "./rows/parse-mapping.ts";
import { addServerFlags } from "./server-flags.ts";
import type { ServerFlags } from "./server-flags.ts";

export interface UploadFlags extends MappingFlags, ServerFlags {
  readonly noun: string;
  readonly dataset?: string;
  readonly project?: string;
  readonly format?: string;
  readonly delimiter?: string;
  readonly create?: true;
  readonly dryRun?: true;
  readonly checkpoint?: string | false;
  readonly ordered?: true;
  readonly chunkCount?: string;
  readonly chunkBytes?: string;
  readonly inFlight?: string;
  readonly json?: true;
}

/** Adds `millrace upload`. `onPartial` hears that some rows were rejected. */
export function addUpload(program: Command, onPartial: () => void): void {
  const command = program
    .command("upload")
    .description(
      "Upload rows of CSV, JSONL or Parquet files, gzip or zstd as well, as examples of a dataset.",
    )
    .argument("<file...>", "paths, patterns, or - for standard input")
    .option("--dataset <name>", "the dataset: its name, or its id")
    .option("--create", "make the dataset where there is none of that name")
    .option("--noun <noun>", "what the rows are: examples, feedback or runs", "examples")
    .option("--project <name>", "where runs are filed that name no project")
    .option("--format <format>", "csv, jsonl or parquet; left out: as the file's name says")
    .option("--delimiter <text>", "what parts the cells of a CSV; left out: a comma, of .tsv a tab")
    .option("--inputs <columns>", "columns that become inputs, such as a,b; left out: all others")
    .option("--outputs <columns>", "columns that become outputs")
    .option("--metadata <columns>", "columns that become metadata")
    .option("--split <column>", "column of the split, or of a list of splits")
    .option("--id <column>", "column that says which row it is, so that it is made once")
    .option("--no-id", "a column called id says nothing: the content does")
    .option("--types <types>", "types of CSV columns: a:number,b:json,c:boolean,d:text")
    .option("--map <file>", "all of these in a JSON file")
    .option("--dry-run", "check the rows and send nothing")
    .option("--checkpoint <file>", "where to note how far it is; left out: beside the source")
    .option("--no-checkpoint", "note nothing")
    .option("--ordered", "rows are made in their order, one request after the other")
    .option("--chunk-count <rows>", "rows of one request")
    .option("--chunk-bytes <bytes>", "bytes of one request")
    .option("--in-flight <requests>", "requests under way")
    .option("--json", "the result as JSON");
  addServerFlags(command).action(async (files: readonly string[], flags: UploadFlags) => {
    // What reads files and what sends them is loaded by who uploads.
    const { upload } = await import("./run-upload.ts");
    if ((await upload(files, flags)) > 0) {
      onPartial();
    }
  });
}

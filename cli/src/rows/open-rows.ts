import { createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { UsageError } from "../usage-error.ts";
import { openBytes, packingOf, standardInput } from "./byte-source.ts";
import { openCsv } from "./csv-rows.ts";
import type { CsvOptions } from "./csv-rows.ts";
import { openJsonLines } from "./json-lines.ts";
import { openParquet } from "./parquet-rows.ts";
import type { RowSource } from "./source-row.ts";

export type Format = "csv" | "jsonl" | "parquet";

const formats: Readonly<Record<string, Format>> = {
  csv: "csv",
  tsv: "csv",
  jsonl: "jsonl",
  ndjson: "jsonl",
  parquet: "parquet",
};

/** @throws {@link UsageError} there is no such format. */
export function parseFormat(text: string): Format {
  const format = formats[text];
  if (format === undefined || text === "tsv" || text === "ndjson") {
    throw new UsageError(`--format is csv, jsonl or parquet, not ${JSON.stringify(text)}`);
  }
  return format;
}

/** The format in a file's name, compressed or not. */
const endOf = (path: string): string =>
  /\.(\w+?)(?:\.(?:gz|gzip|zst|zstd))?$/i.exec(path)?.[1]?.toLowerCase() ?? "";

/** The format in a file's name; `undefined` where the name has none. */
export const formatOfName = (path: string): Format | undefined => formats[endOf(path)];

export interface OpenRows {
  readonly path: string;
  /** Left out: the format in the file's name. */
  readonly format: Format | undefined;
  readonly csv: Omit<CsvOptions, "delimiter"> & { readonly delimiter: string | undefined };
}

/** Opens a file of rows, or standard input. @throws {@link UsageError} its format is unknown. */
export async function openRows({ path, format, csv }: OpenRows): Promise<RowSource> {
  const end = endOf(path);
  const known = format ?? formatOfName(path);
  if (known === undefined) {
    const what = path === standardInput ? "Standard input" : path;
    throw new UsageError(
      `${what}: nothing says which format it has; give --format csv, jsonl or parquet`,
    );
  }
  switch (known) {
    case "csv":
      return openCsv(await openBytes(path), {
        types: csv.types,
        delimiter: csv.delimiter ?? (end === "tsv" ? "\t" : ","),
      });
    case "jsonl":
      return openJsonLines(await openBytes(path));
    case "parquet":
      return path === standardInput || (await packingOf(path)) !== "none"
        ? openCopy(path)
        : openParquet(path);
  }
}

/** Parquet begins at its end: what can only be read from its beginning is unpacked to a file first. */
async function openCopy(path: string): Promise<RowSource> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-upload-"));
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    const copy = join(folder, "rows.parquet");
    const { bytes } = await openBytes(path);
    await pipeline(bytes, createWriteStream(copy, { mode: 0o600 }));
    const source = await openParquet(copy, path);
    const close = async (): Promise<void> => {
      await source.close();
      await remove();
    };
    return { ...source, close };
  } catch (error) {
    await remove();
    throw error;
  }
}

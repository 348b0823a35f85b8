import { createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { UsageError } from "../usage-error.ts";
import { openBytes, readCompression, standardInput } from "./byte-source.ts";
import { openCsv } from "./csv-rows.ts";
import type { CsvOptions } from "./csv-rows.ts";
import { openJsonLines } from "./json-lines.ts";
import { openParquet } from "./parquet-rows.ts";
import type { RowSource } from "./source-row.ts";

/** The format of a file of rows. */
export type Format = "csv" | "jsonl" | "parquet";

const formats: ReadonlyMap<string, Format> = new Map([
  ["csv", "csv"],
  ["tsv", "csv"],
  ["jsonl", "jsonl"],
  ["ndjson", "jsonl"],
  ["parquet", "parquet"],
]);

/** @throws {@link UsageError} if there is no such format. */
export function parseFormat(text: string): Format {
  const format = formats.get(text);
  if (format === undefined || text === "tsv" || text === "ndjson") {
    throw new UsageError(`--format must be csv, jsonl or parquet, not ${JSON.stringify(text)}`);
  }
  return format;
}

/** Returns the extension of a file's name, ignoring an extension for compression. */
const readExtension = (path: string): string =>
  /\.(\w+?)(?:\.(?:gz|gzip|zst|zstd))?$/i.exec(path)?.[1]?.toLowerCase() ?? "";

/** Returns the format of a file according to its extension; `undefined` if the extension is unknown. */
export const inferFormat = (path: string): Format | undefined => formats.get(readExtension(path));

/** Arguments of {@link openRows}. */
export interface OpenRowsOptions {
  readonly path: string;
  /** @defaultValue the format that the file's name implies */
  readonly format: Format | undefined;
  readonly csv: Omit<CsvOptions, "delimiter"> & { readonly delimiter: string | undefined };
}

/**
 * Opens a file of rows, or standard input.
 *
 * @throws {@link UsageError} if the format is unknown.
 */
export async function openRows({ path, format, csv }: OpenRowsOptions): Promise<RowSource> {
  const extension = readExtension(path);
  const knownFormat = format ?? inferFormat(path);
  if (knownFormat === undefined) {
    const sourceName = path === standardInput ? "standard input" : path;
    throw new UsageError(
      `the format of ${sourceName} is unknown; pass --format csv, jsonl or parquet`,
    );
  }
  switch (knownFormat) {
    case "csv":
      return openCsv(await openBytes(path), {
        chooseTypes: csv.chooseTypes,
        delimiter: csv.delimiter ?? (extension === "tsv" ? "\t" : ","),
      });
    case "jsonl":
      return openJsonLines(await openBytes(path));
    case "parquet":
      return path === standardInput || (await readCompression(path)) !== "none"
        ? openParquetCopy(path)
        : openParquet(path);
  }
}

/**
 * Opens a Parquet source that can only be read from its beginning. It is first decompressed into a temporary file,
 * because the metadata of Parquet is at the end of the file.
 */
async function openParquetCopy(path: string): Promise<RowSource> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-upload-"));
  const removeFolder = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    const copyPath = join(folder, "rows.parquet");
    const { bytes } = await openBytes(path);
    await pipeline(bytes, createWriteStream(copyPath, { mode: 0o600 }));
    const source = await openParquet(copyPath, path);
    const close = async (): Promise<void> => {
      await source.close();
      await removeFolder();
    };
    return { ...source, close };
  } catch (error) {
    await removeFolder();
    throw error;
  }
}

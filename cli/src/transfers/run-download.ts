import { createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { PassThrough, Readable } from "node:stream";
import type { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { Client, Example } from "millrace";
import { NotFoundError } from "millrace";
import { inferFormat, parseFormat } from "../rows/open-rows.ts";
import type { Format } from "../rows/open-rows.ts";
import { findDataset } from "./find-dataset.ts";
import { writeRows } from "../rows/write-rows.ts";
import { createZstdCompressor } from "../rows/zstd.ts";
import { createInterruptSignal, isId, withClient } from "../local-server/server-flags.ts";
import { UsageError } from "../usage-error.ts";
import type { ServerFlags } from "../local-server/server-flags.ts";

/** Runs `millrace download`. */
export async function download(flags: DownloadFlags): Promise<void> {
  const { output, gzip, zstd } = flags;
  const format = chooseFormat(flags);
  if (gzip === true && zstd === true) {
    throw new UsageError("--gzip and --zstd can't be combined: pass one of them");
  }
  const compressor = createCompressor(
    zstd === true || gzip === true ? flags : inferCompression(output),
  );
  const signal = createInterruptSignal();
  let count = 0;
  await withClient(flags, {}, async (client) => {
    // Read the dataset before writing the first byte, so that no file is created if the dataset does not exist.
    const examples = await listExamples(client, flags, signal);
    const countExamples = async function* countExamples(): AsyncGenerator<Example> {
      for await (const example of examples) {
        count += 1;
        yield example;
      }
    };
    const rows = Readable.from(writeRows(countExamples(), format), { objectMode: false });
    if (output === undefined) {
      await pipeline(rows, compressor, process.stdout, { end: false, signal });
      return;
    }
    // The rows are written to a temporary file, which is then renamed, so that `output` is always a complete file:
    // the new one, or the previous one.
    const temporaryPath = `${output}.${process.pid}.tmp`;
    try {
      await pipeline(rows, compressor, createWriteStream(temporaryPath), { signal });
      await rename(temporaryPath, output);
    } catch (error) {
      await rm(temporaryPath, { force: true });
      throw error;
    }
  });
  process.stderr.write(
    `${count.toLocaleString("en")} examples${output === undefined ? "" : ` in ${output}`}\n`,
  );
}

/** Returns the format from `--format`, otherwise from the extension of the file. */
function chooseFormat({ format, output }: DownloadFlags): Format {
  if (format !== undefined) {
    return parseFormat(format);
  }
  const formatFromName = output === undefined ? undefined : inferFormat(output);
  if (formatFromName === undefined) {
    const reason =
      output === undefined
        ? "standard output has no file name to infer it from"
        : `the name ${JSON.stringify(output)} does not end in .csv, .jsonl or .parquet`;
    throw new UsageError(`--format csv, jsonl or parquet is required: ${reason}`);
  }
  return formatFromName;
}

/** Returns the compression that the extension of a file implies. */
function inferCompression(outputPath = ""): CompressionFlags {
  if (/\.(?:gz|gzip)$/i.test(outputPath)) {
    return { gzip: true };
  }
  return /\.(?:zst|zstd)$/i.test(outputPath) ? { zstd: true } : {};
}

type CompressionFlags = Pick<DownloadFlags, "gzip" | "zstd">;

function createCompressor({ gzip, zstd }: CompressionFlags): Transform {
  if (zstd === true) {
    return createZstdCompressor();
  }
  return gzip === true ? createGzip() : new PassThrough();
}

async function listExamples(
  client: Client,
  { dataset, asOf, split }: DownloadFlags,
  signal: AbortSignal,
): Promise<AsyncIterable<Example>> {
  const datasetKey = isId(dataset) ? { datasetId: dataset } : { datasetName: dataset };
  const { id } = await findDataset(client, dataset, { signal });
  const version = asOf ?? (await readLatestVersion(client, id, signal));
  return client.examples.list({
    ...datasetKey,
    order: "written",
    signal,
    ...(version === undefined ? {} : { asOf: version }),
    ...(split === undefined ? {} : { splits: split }),
  });
}

/**
 * Reads which version of the dataset is the latest. The download reads only this version, because changes that are
 * made during the download would otherwise shift the pages. A dataset that never changed has no version.
 */
async function readLatestVersion(
  client: Client,
  id: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    return (await client.datasets.readVersion({ datasetId: id, tag: "latest", signal })).asOf;
  } catch (error) {
    if (error instanceof NotFoundError) {
      return undefined;
    }
    throw error;
  }
}

/** The flags of `millrace download`. */
export interface DownloadFlags extends ServerFlags {
  readonly dataset: string;
  readonly asOf?: string;
  readonly split?: readonly string[];
  readonly format?: string;
  readonly output?: string;
  readonly gzip?: true;
  readonly zstd?: true;
}

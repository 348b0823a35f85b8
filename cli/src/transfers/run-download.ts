import { createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { PassThrough, Readable } from "node:stream";
import type { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { Client, Example } from "millrace";
import { NotFoundError } from "millrace";
import { formatOfName, parseFormat } from "../rows/open-rows.ts";
import type { Format } from "../rows/open-rows.ts";
import { findDataset } from "./find-dataset.ts";
import { writeRows } from "../rows/write-rows.ts";
import { createZstd } from "../rows/zstd.ts";
import { endSignal, isId, withClient } from "../local-server/server-flags.ts";
import { UsageError } from "../usage-error.ts";
import type { ServerFlags } from "../local-server/server-flags.ts";

/** Writes what was asked for. */
export async function download(flags: DownloadFlags): Promise<void> {
  const { output, gzip, zstd } = flags;
  const format = formatOf(flags);
  if (gzip === true && zstd === true) {
    throw new UsageError("--gzip and --zstd are two ways of packing: take one");
  }
  const packer = packerOf(zstd === true || gzip === true ? flags : packingOfName(output));
  const signal = endSignal();
  let count = 0;
  await withClient(flags, {}, async (client) => {
    // Before the first byte is written: a name that is not there leaves nothing behind.
    const examples = await listOf(client, flags, signal);
    const counted = async function* counted(): AsyncGenerator<Example> {
      for await (const example of examples) {
        count += 1;
        yield example;
      }
    };
    const rows = Readable.from(writeRows(counted(), format), { objectMode: false });
    if (output === undefined) {
      await pipeline(rows, packer, process.stdout, { end: false, signal });
      return;
    }
    // Under its name there is a whole file, or the one that was there.
    const besides = `${output}.${process.pid}.tmp`;
    try {
      await pipeline(rows, packer, createWriteStream(besides), { signal });
      await rename(besides, output);
    } catch (error) {
      await rm(besides, { force: true });
      throw error;
    }
  });
  process.stderr.write(
    `${count.toLocaleString("en")} examples${output === undefined ? "" : ` in ${output}`}\n`,
  );
}

/** From `--format`, else from the end of the file's name. */
function formatOf({ format, output }: DownloadFlags): Format {
  if (format !== undefined) {
    return parseFormat(format);
  }
  const named = output === undefined ? undefined : formatOfName(output);
  if (named === undefined) {
    const why =
      output === undefined
        ? "standard output has no file name to tell it by"
        : `the name ${JSON.stringify(output)} does not end in .csv, .jsonl or .parquet`;
    throw new UsageError(`--format csv, jsonl or parquet is needed: ${why}`);
  }
  return named;
}

/** A file named `.gz` or `.zst` is compressed, as its name promises. */
function packingOfName(output = ""): Packing {
  if (/\.(?:gz|gzip)$/i.test(output)) {
    return { gzip: true };
  }
  return /\.(?:zst|zstd)$/i.test(output) ? { zstd: true } : {};
}

type Packing = Pick<DownloadFlags, "gzip" | "zstd">;

function packerOf({ gzip, zstd }: Packing): Transform {
  if (zstd === true) {
    return createZstd();
  }
  return gzip === true ? createGzip() : new PassThrough();
}

async function listOf(
  client: Client,
  { dataset, asOf, split }: DownloadFlags,
  signal: AbortSignal,
): Promise<AsyncIterable<Example>> {
  const place = isId(dataset) ? { datasetId: dataset } : { datasetName: dataset };
  const { id } = await findDataset(client, dataset, { signal });
  const version = asOf ?? (await newestOf(client, id, signal));
  return client.examples.list({
    ...place,
    order: "written",
    signal,
    ...(version === undefined ? {} : { asOf: version }),
    ...(split === undefined ? {} : { splits: split }),
  });
}

/** Pinned: what is written meanwhile would move the pages. A dataset that never changed has no version. */
async function newestOf(
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

export interface DownloadFlags extends ServerFlags {
  readonly dataset: string;
  readonly asOf?: string;
  readonly split?: readonly string[];
  readonly format?: string;
  readonly output?: string;
  readonly gzip?: true;
  readonly zstd?: true;
}

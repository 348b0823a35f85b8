import { createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { PassThrough, Readable } from "node:stream";
import type { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { Client, Example } from "millrace";
import { NotFoundError } from "millrace";
import { parseFormat } from "./rows/open-rows.ts";
import { writeRows } from "./rows/write-rows.ts";
import { createZstd } from "./rows/zstd.ts";
import type { DownloadFlags } from "./download.ts";
import { endSignal, isId, withClient } from "./server-flags.ts";
import { UsageError } from "./usage-error.ts";

/** Writes what was asked for. */
export async function download(flags: DownloadFlags): Promise<void> {
  const { output, gzip, zstd } = flags;
  const format = parseFormat(flags.format);
  if (gzip === true && zstd === true) {
    throw new UsageError("--gzip and --zstd are two ways of packing: take one");
  }
  const packer = packerOf(flags);
  const signal = endSignal();
  let count = 0;
  await withClient(flags, {}, async (client) => {
    const counted = async function* counted(): AsyncGenerator<Example> {
      for await (const example of await listOf(client, flags, signal)) {
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

function packerOf({ gzip, zstd }: DownloadFlags): Transform {
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
  const { id } = await client.datasets.read(place);
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

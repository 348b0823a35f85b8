import { createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { PassThrough, Readable } from "node:stream";
import type { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { Client, Example, Run } from "millrace";
import { HttpError, NotFoundError } from "millrace";
import { inferFormat, parseFormat } from "../rows/open-rows.ts";
import type { Format } from "../rows/open-rows.ts";
import { findDataset } from "./find-dataset.ts";
import { findProject } from "./find-project.ts";
import { writeRows } from "../rows/write-rows.ts";
import { writeRuns, writtenFields } from "../rows/write-runs.ts";
import { createZstdCompressor } from "../rows/zstd.ts";
import { createInterruptSignal, isId, withClient } from "../local-server/server-flags.ts";
import { UsageError } from "../usage-error.ts";
import type { ServerFlags } from "../local-server/server-flags.ts";

/** Runs `millrace download`. */
export async function download(flags: DownloadFlags): Promise<void> {
  const { output, gzip, zstd } = flags;
  const source = chooseSource(flags);
  if (gzip === true && zstd === true) {
    throw new UsageError("--gzip and --zstd can't be combined: pass one of them");
  }
  const compressor = createCompressor(
    zstd === true || gzip === true ? flags : inferCompression(output),
  );
  const signal = createInterruptSignal();
  let count = 0;
  const countItems = async function* countItems<Item>(
    items: AsyncIterable<Item>,
  ): AsyncGenerator<Item> {
    for await (const item of withFilterErrors(items)) {
      count += 1;
      yield item;
    }
  };
  await withClient(flags, {}, async (client) => {
    // Read the dataset or project before writing the first byte, so that no file is created if it does not exist.
    const texts =
      source.kind === "runs"
        ? writeRuns(countItems(await listRuns(client, source.project, { flags, signal })))
        : writeRows(
            countItems(await listExamples(client, source.dataset, { flags, signal })),
            source.format,
          );
    const rows = Readable.from(texts, { objectMode: false });
    if (output === undefined) {
      await writeToStandardOutput(rows, compressor, signal);
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
      throw isWriteError(error, temporaryPath)
        ? new Error(
            `${output} can't be written: ${error.message.replaceAll(temporaryPath, output)}`,
            { cause: error },
          )
        : error;
    }
  });
  process.stderr.write(
    `${count.toLocaleString("en")} ${source.kind}${output === undefined ? "" : ` in ${output}`}\n`,
  );
}

/** Writes the rows until all are written, or until the program that reads them, such as `head`, ends. */
async function writeToStandardOutput(
  rows: Readable,
  compressor: Transform,
  signal: AbortSignal,
): Promise<void> {
  try {
    await pipeline(rows, compressor, process.stdout, { end: false, signal });
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EPIPE")) {
      throw error;
    }
  }
}

/** Whether the file system refused to write to a path. */
const isWriteError = (error: unknown, path: string): error is Error =>
  error instanceof Error && ("path" in error ? error.path === path : false);

/** What is downloaded. */
type Source =
  | { readonly kind: "examples"; readonly dataset: string; readonly format: Format }
  | { readonly kind: "runs"; readonly project: string };

/** @throws {@link UsageError} if the flags name no source or two sources, or a flag does not apply to the source. */
function chooseSource(flags: DownloadFlags): Source {
  const { dataset, project, asOf, split, all } = flags;
  if (project === undefined) {
    if (dataset === undefined) {
      throw new UsageError(
        "pass --dataset <name> to download examples, or --project <name> to download runs",
      );
    }
    if (all === true) {
      throw new UsageError("--all applies only to the runs of a --project");
    }
    return { kind: "examples", dataset, format: chooseFormat(flags) };
  }
  if (dataset !== undefined) {
    throw new UsageError("--dataset and --project can't be combined: pass one of them");
  }
  if (asOf !== undefined || split !== undefined) {
    throw new UsageError("--as-of and --split apply only to the examples of a --dataset");
  }
  const format =
    flags.format === undefined ? inferFormat(flags.output ?? "") : parseFormat(flags.format);
  if (format !== undefined && format !== "jsonl") {
    throw new UsageError(`runs are written as jsonl, not as ${format}`);
  }
  return { kind: "runs", project };
}

/**
 * Yields the items.
 *
 * @throws {@link UsageError} if the server refuses the filter. The message is that of the server and names the flag.
 */
async function* withFilterErrors<Item>(items: AsyncIterable<Item>): AsyncGenerator<Item> {
  try {
    yield* items;
  } catch (cause) {
    throw cause instanceof HttpError && cause.status === 422 && cause.detail.startsWith("filter: ")
      ? new UsageError(`--${cause.detail}`, { cause })
      : cause;
  }
}

/** Lists the runs of a project, the newest first. Pages are fetched as they are written. */
async function listRuns(
  client: Client,
  projectIdOrName: string,
  { flags: { all, filter }, signal }: ListOptions,
): Promise<AsyncIterable<Run>> {
  const { id } = await findProject(client, projectIdOrName, signal);
  return client.runs.list({
    projectIds: [id],
    select: writtenFields,
    filter,
    isRoot: all === true ? undefined : true,
    signal,
  });
}

interface ListOptions {
  readonly flags: DownloadFlags;
  readonly signal: AbortSignal;
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
  dataset: string,
  { flags: { asOf, split, filter }, signal }: ListOptions,
): Promise<AsyncIterable<Example>> {
  const datasetKey = isId(dataset) ? { datasetId: dataset } : { datasetName: dataset };
  const { id } = await findDataset(client, dataset, { signal });
  const version = asOf ?? (await readLatestVersion(client, id, signal));
  return client.examples.list({
    ...datasetKey,
    order: "written",
    filter,
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

export interface DownloadFlags extends ServerFlags {
  readonly dataset?: string;
  readonly project?: string;
  readonly all?: true;
  readonly filter?: string;
  readonly asOf?: string;
  readonly split?: readonly string[];
  readonly format?: string;
  readonly output?: string;
  readonly gzip?: true;
  readonly zstd?: true;
}

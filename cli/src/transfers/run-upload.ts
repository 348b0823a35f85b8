import type { Client, RejectedRow } from "millrace";
import { UploadError } from "millrace";
import { uploadLimits } from "millrace/model";
import { findDataset } from "./find-dataset.ts";
import { findFiles } from "./find-files.ts";
import { standardInput } from "../rows/byte-source.ts";
import { parseFormat } from "../rows/open-rows.ts";
import { parseMapping } from "../rows/parse-mapping.ts";
import { createInterruptSignal, isId, withClient } from "../local-server/server-flags.ts";
import { uploadFile } from "./upload-file.ts";
import type { FileResult, RowKind, UploadPlan } from "./upload-file.ts";
import { formatFileResult, sumResults } from "./upload-report.ts";
import { UsageError } from "../usage-error.ts";
import type { MappingFlags } from "../rows/parse-mapping.ts";
import type { ServerFlags } from "../local-server/server-flags.ts";

/**
 * Uploads files.
 *
 * @returns the number of rejected rows.
 */
export async function upload(
  fileArguments: readonly string[],
  flags: UploadFlags,
): Promise<number> {
  const plan = await createPlan(flags);
  const files = await findFiles(fileArguments);
  if (files.length > 1 && typeof plan.checkpoint === "string") {
    throw new UsageError(
      "--checkpoint applies to a single file; with several files, each has its own checkpoint next to it",
    );
  }
  const results: FileResult[] = [];
  const printResult = (error?: string): void => {
    if (flags.json === true) {
      const result = {
        ...(flags.dryRun === true ? { dryRun: true } : {}),
        ...sumResults(results),
        files: results,
        ...(error === undefined ? {} : { error }),
      };
      process.stdout.write(`${JSON.stringify(result)}\n`);
    }
  };
  try {
    await withClient(flags, {}, async (client) => {
      await assertDataset(client, plan);
      for (const file of files) {
        const result = await uploadFile(client, file, plan);
        results.push(result);
        if (flags.json !== true) {
          process.stdout.write(formatFileResult(result, flags.dryRun === true));
        }
        result.warnings.forEach((warning) => process.stderr.write(`warning: ${warning}\n`));
      }
    });
  } catch (error) {
    printResult(error instanceof Error ? error.message : String(error));
    throw error instanceof UploadError && plan.signal.aborted && plan.checkpoint !== false
      ? new Error(`${error.message}; run the same command again to continue from there`, {
          cause: error,
        })
      : error;
  }
  printResult();
  return results.reduce((sum, { rejected }) => sum + rejected, 0);
}

/** Checks that the dataset exists before any file is read, so that a misspelled name is reported immediately. */
async function assertDataset(
  client: Client,
  { rowKind, dataset, createDataset, signal }: UploadPlan,
): Promise<void> {
  const { datasetId, datasetName = "" } = dataset;
  if (rowKind !== "examples" || (createDataset && datasetId === undefined)) {
    return;
  }
  await findDataset(client, datasetId ?? datasetName, {
    signal,
    ...(datasetId === undefined ? { hint: "pass --create to create it" } : {}),
  });
}

const rowKinds: readonly RowKind[] = ["examples", "feedback", "runs"];

async function createPlan(flags: UploadFlags): Promise<UploadPlan> {
  const rowKind = rowKinds.find((kind) => kind === flags.resource);
  const { dataset, project, format, dryRun = false, create: createDataset = false, json } = flags;
  if (rowKind === undefined) {
    throw new UsageError(
      `--resource must be one of ${rowKinds.join(", ")}, not ${JSON.stringify(flags.resource)}`,
    );
  }
  if ((rowKind === "examples") !== (dataset !== undefined)) {
    throw new UsageError(
      rowKind === "examples"
        ? "--dataset <name> is required: the dataset to upload the examples to"
        : `--dataset applies only to examples, not to ${rowKind}`,
    );
  }
  if (dataset === "") {
    throw new UsageError("--dataset is empty: pass the name or the id of a dataset");
  }
  const mapping = await parseMapping(flags);
  const hasMapping = Object.keys(mapping).some((name) => name !== "types");
  if (rowKind !== "examples" && hasMapping) {
    throw new UsageError(
      `columns of ${rowKind} can't be mapped: they must have the names of the fields`,
    );
  }
  let printedCount = 0;
  return {
    rowKind,
    dataset:
      dataset !== undefined && isId(dataset)
        ? { datasetId: dataset }
        : { datasetName: dataset ?? "" },
    createDataset,
    project,
    format: format === undefined ? undefined : parseFormat(format),
    delimiter: flags.delimiter,
    mapping,
    checkpoint: flags.checkpoint,
    settings: {
      dryRun,
      ordered: flags.ordered === true,
      ...parseLimits(flags),
    },
    signal: createInterruptSignal(),
    onRejected:
      json === true || !dryRun
        ? undefined
        : (path, row) => {
            if (printedCount++ < maxPrintedRejections) {
              process.stdout.write(formatRejection(path, row));
            }
          },
  };
}

/** Maximum number of rejected rows that a dry run prints. */
const maxPrintedRejections = 100;

const formatRejection = (path: string, { row, reason }: RejectedRow): string =>
  // A reason can contain control characters; as JSON it can't move the terminal's cursor.
  `${path === standardInput ? "standard input" : path}, row ${row}: ${JSON.stringify(reason)}\n`;

/** @throws {@link UsageError} if a flag is not a whole number within the limits of its setting. */
function parseLimits({
  chunkCount,
  chunkBytes,
  inFlight,
}: UploadFlags): Pick<UploadPlan["settings"], "chunkCount" | "chunkBytes" | "inFlight"> {
  return {
    chunkCount: parseWholeNumber(chunkCount, "--chunk-count", uploadLimits.chunkCount),
    chunkBytes: parseWholeNumber(chunkBytes, "--chunk-bytes", uploadLimits.chunkBytes),
    inFlight: parseWholeNumber(inFlight, "--in-flight", uploadLimits.inFlight),
  };
}

function parseWholeNumber(
  text: string | undefined,
  flag: string,
  [min, max]: readonly [number, number],
): number | undefined {
  if (text === undefined) {
    return undefined;
  }
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max)) {
    throw new UsageError(
      `${flag} must be a whole number from ${min.toLocaleString("en")} to ${max.toLocaleString("en")}, not ${JSON.stringify(text)}`,
    );
  }
  return value;
}

export interface UploadFlags extends MappingFlags, ServerFlags {
  readonly resource: string;
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

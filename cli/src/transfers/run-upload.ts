import type { Client, RejectedRow } from "millrace";
import { UploadError } from "millrace";
import { findDataset } from "./find-dataset.ts";
import { findFiles } from "./find-files.ts";
import { standardInput } from "../rows/byte-source.ts";
import { parseFormat } from "../rows/open-rows.ts";
import { parseMapping } from "../rows/parse-mapping.ts";
import { endSignal, isId, withClient } from "../local-server/server-flags.ts";
import { uploadFile } from "./upload-file.ts";
import type { FileResult, Noun, UploadPlan } from "./upload-file.ts";
import { describeFile, totalOf } from "./upload-report.ts";
import { UsageError } from "../usage-error.ts";
import type { MappingFlags } from "../rows/parse-mapping.ts";
import type { ServerFlags } from "../local-server/server-flags.ts";

/** Uploads files. @returns how many rows were rejected. */
export async function upload(names: readonly string[], flags: UploadFlags): Promise<number> {
  const plan = await toPlan(flags);
  const files = await findFiles(names);
  if (files.length > 1 && typeof plan.checkpoint === "string") {
    throw new UsageError("--checkpoint is of one file: several have one each, beside them");
  }
  const done: FileResult[] = [];
  const report = (error?: string): void => {
    if (flags.json === true) {
      const result = { ...totalOf(done), files: done, ...(error === undefined ? {} : { error }) };
      process.stdout.write(`${JSON.stringify(result)}\n`);
    }
  };
  try {
    await withClient(flags, {}, async (client) => {
      await assertDataset(client, plan);
      for (const file of files) {
        const result = await uploadFile(client, file, plan);
        done.push(result);
        if (flags.json !== true) {
          process.stdout.write(describeFile(result, flags.dryRun === true));
        }
        result.warnings.forEach((warning) => process.stderr.write(`warning: ${warning}\n`));
      }
    });
  } catch (error) {
    report(error instanceof Error ? error.message : String(error));
    throw error instanceof UploadError && plan.signal.aborted && plan.checkpoint !== false
      ? new Error(`${error.message}; the same command goes on from there`, { cause: error })
      : error;
  }
  report();
  return done.reduce((sum, { rejected }) => sum + rejected, 0);
}

/** Said before a file is read: a name that was misspelt, or a dataset that is to be created. */
async function assertDataset(
  client: Client,
  { noun, dataset, createDataset, signal }: UploadPlan,
): Promise<void> {
  const { datasetId, datasetName = "" } = dataset;
  if (noun !== "examples" || (createDataset && datasetId === undefined)) {
    return;
  }
  await findDataset(client, datasetId ?? datasetName, {
    signal,
    ...(datasetId === undefined ? { hint: "pass --create to create it" } : {}),
  });
}

const nouns: readonly Noun[] = ["examples", "feedback", "runs"];

async function toPlan(flags: UploadFlags): Promise<UploadPlan> {
  const noun = nouns.find((known) => known === flags.noun);
  const { dataset, project, format, dryRun = false, create = false, json } = flags;
  if (noun === undefined) {
    throw new UsageError(`--noun is one of ${nouns.join(", ")}, not ${JSON.stringify(flags.noun)}`);
  }
  if ((noun === "examples") !== (dataset !== undefined)) {
    throw new UsageError(
      noun === "examples"
        ? "--dataset <name> is needed: it names the dataset that the examples go to"
        : `--dataset is for examples alone, not for ${noun}`,
    );
  }
  const mapping = await parseMapping(flags);
  const isMapped = Object.keys(mapping).some((name) => name !== "types");
  if (noun !== "examples" && isMapped) {
    throw new UsageError(`${noun} are not mapped: their columns are called as their members`);
  }
  let told = 0;
  return {
    noun,
    dataset:
      dataset !== undefined && isId(dataset)
        ? { datasetId: dataset }
        : { datasetName: dataset ?? "" },
    createDataset: create,
    project,
    format: format === undefined ? undefined : parseFormat(format),
    delimiter: flags.delimiter,
    mapping,
    checkpoint: flags.checkpoint,
    settings: {
      dryRun,
      ordered: flags.ordered === true,
      chunkCount: whole(flags.chunkCount, "--chunk-count"),
      chunkBytes: whole(flags.chunkBytes, "--chunk-bytes"),
      inFlight: whole(flags.inFlight, "--in-flight"),
    },
    signal: endSignal(),
    onRejected:
      json === true || !dryRun
        ? undefined
        : (path, row) => {
            if (told++ < faultsTold) {
              process.stdout.write(faultLine(path, row));
            }
          },
  };
}

/** Most faults that a dry run prints. */
const faultsTold = 100;

const faultLine = (path: string, { row, reason }: RejectedRow): string =>
  // As JSON a reason can't move the terminal's cursor.
  `${path === standardInput ? "standard input" : path}, row ${row}: ${JSON.stringify(reason)}\n`;

function whole(text: string | undefined, flag: string): number | undefined {
  if (text !== undefined && !/^\d{1,9}$/.test(text)) {
    throw new UsageError(`${flag} is a whole number, not ${JSON.stringify(text)}`);
  }
  return text === undefined ? undefined : Number(text);
}

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

import { readFile, rm, stat } from "node:fs/promises";
import { resolve as toAbsolutePath } from "node:path";
import { ValidationError } from "millrace";
import type {
  Client,
  CreateFeedback,
  DatasetKey,
  NewExample,
  RejectedRow,
  UploadResult,
  UploadSettings,
  WirePost,
} from "millrace";
import { isFileMissing } from "./find-files.ts";
import { RejectedFile } from "./rejected-file.ts";
import { standardInput } from "../rows/byte-source.ts";
import { assertColumns, ExampleBuilder, toFeedback, completeTypes } from "../rows/mapping.ts";
import type { Mapping } from "../rows/mapping.ts";
import { openRows } from "../rows/open-rows.ts";
import type { Format } from "../rows/open-rows.ts";
import { BadRow } from "../rows/source-row.ts";
import type { RowSource, SourceRow } from "../rows/source-row.ts";
import { showProgress } from "./show-progress.ts";

/** What the rows of an uploaded file become. */
export type RowKind = "examples" | "feedback" | "runs";

/** The settings of an upload, which apply to each of its files. */
export interface UploadPlan {
  readonly rowKind: RowKind;
  /** The dataset; used only for examples. */
  readonly dataset: DatasetKey;
  readonly createDataset: boolean;
  /** The project of runs that don't name one; used only for runs. */
  readonly project: string | undefined;
  readonly format: Format | undefined;
  readonly delimiter: string | undefined;
  readonly mapping: Mapping;
  /**
   * Path of the checkpoint, a file that stores how many rows are uploaded. `false` means no checkpoint, and `undefined`
   * a checkpoint next to each source file.
   */
  readonly checkpoint: string | false | undefined;
  readonly settings: Pick<
    UploadSettings,
    "chunkBytes" | "chunkCount" | "inFlight" | "ordered" | "dryRun"
  >;
  readonly signal: AbortSignal;
  /** Called for each rejected row. */
  readonly onRejected: ((path: string, row: RejectedRow) => void) | undefined;
}

/** Result of uploading one file. */
export interface FileResult extends UploadResult {
  readonly file: string;
  /** File with the rejected rows; absent if no row was rejected. */
  readonly rejectedFile?: string;
}

type InputRow = SourceRow | BadRow;

/** Uploads the rows of one file, and writes rejected rows to a file next to it. */
export async function uploadFile(
  client: Client,
  path: string,
  plan: UploadPlan,
): Promise<FileResult> {
  const { format, delimiter, mapping, settings } = plan;
  const chooseTypes = (columns: readonly string[]) => completeTypes(mapping, columns);
  const source = await openRows({ path, format, csv: { delimiter, chooseTypes } });
  const isDryRun = settings.dryRun === true;
  const rejectedRowsFile = new RejectedFile(
    `${path === standardInput ? "stdin" : path}.rejected.jsonl`,
  );
  const checkpoint = isDryRun ? undefined : await prepareCheckpoint(path, plan);
  const progressDisplay = showProgress(process.stderr, path, source.getFractionRead);
  try {
    if (plan.rowKind === "examples" && source.columns !== undefined) {
      assertColumns(mapping, source.columns);
    }
    if (!isDryRun) {
      await rejectedRowsFile.prepare(checkpoint && (await readDoneRowCount(checkpoint.path)));
    }
    let lastItem: InputRow | undefined;
    const unwrapRow = (item: InputRow): SourceRow => {
      lastItem = item;
      if (item instanceof BadRow) {
        throw new ValidationError(item.reason);
      }
      return item;
    };
    const onRejected = async (row: RejectedRow): Promise<void> => {
      plan.onRejected?.(path, row);
      if (!isDryRun) {
        await rejectedRowsFile.add(row, lastItem);
      }
    };
    const { signal } = plan;
    const onProgress = progressDisplay.update;
    const result = await send(
      { client, source, plan, unwrapRow },
      {
        ...settings,
        signal,
        onRejected,
        onProgress,
        onWait: progressDisplay.showWaiting,
        checkpoint,
      },
    );
    if (checkpoint !== undefined) {
      // The whole file has been uploaded. Uploading it again is a new upload, in which the ids prevent
      // duplicates.
      await rm(checkpoint.path, { force: true });
    }
    return {
      file: path,
      ...result,
      warnings: [...result.warnings, ...(source.warnings ?? []).map((text) => `${path}, ${text}`)],
      ...(rejectedRowsFile.hasRows ? { rejectedFile: rejectedRowsFile.path } : {}),
    };
  } finally {
    progressDisplay.stop();
    await rejectedRowsFile.close();
    await source.close();
  }
}

interface UploadRequest {
  readonly client: Client;
  readonly source: RowSource;
  readonly plan: UploadPlan;
  readonly unwrapRow: (item: InputRow) => SourceRow;
}

function send(
  { client, source, plan, unwrapRow }: UploadRequest,
  settings: UploadSettings,
): Promise<UploadResult> {
  const { mapping, rowKind, dataset, createDataset, project } = plan;
  const builder = new ExampleBuilder(mapping, source.columns);
  const readRowId = (item: InputRow): string | undefined => builder.readKey(unwrapRow(item));
  switch (rowKind) {
    case "examples":
      return client.examples.upload(source.rows, {
        ...settings,
        ...dataset,
        createDataset,
        idFrom: readRowId,
        toExample: (item): NewExample => builder.build(unwrapRow(item)),
      });
    case "feedback":
      return client.feedback.upload(source.rows, {
        ...settings,
        toFeedback: (item): CreateFeedback => toFeedback(unwrapRow(item)),
      });
    case "runs":
      return client.runs.upload(source.rows, {
        ...settings,
        projectName: project,
        toRun: (item): WirePost => unwrapRow(item) as unknown as WirePost,
      });
  }
}

async function prepareCheckpoint(
  path: string,
  { checkpoint, mapping }: UploadPlan,
): Promise<{ path: string; source: string } | undefined> {
  if (checkpoint === false || (checkpoint === undefined && path === standardInput)) {
    return undefined;
  }
  return {
    path: checkpoint ?? `${path}.millrace-checkpoint.json`,
    source: await createFingerprint(path, mapping),
  };
}

/**
 * Describes a source file by path, size, modification time and column mapping. A checkpoint stores this text, so
 * that an upload of a changed file does not continue from it.
 */
async function createFingerprint(path: string, mapping: Mapping): Promise<string> {
  const columnsJson = JSON.stringify(mapping, (_name, value: unknown) =>
    value instanceof Map ? [...value] : value,
  );
  if (path === standardInput) {
    return `standard input, columns ${columnsJson}`;
  }
  const { size, mtimeMs } = await stat(path);
  const time = new Date(mtimeMs).toISOString();
  return `${toAbsolutePath(path)} of ${size} bytes, changed ${time}, columns ${columnsJson}`;
}

/** Reads the number of finished rows from a checkpoint; `undefined` if there is no checkpoint. */
async function readDoneRowCount(path: string): Promise<number | undefined> {
  try {
    // The checkpoint may contain an old and a new entry; the new one has the larger count. The SDK's upload reports a
    // malformed checkpoint.
    const matches = [...(await readFile(path, "utf8")).matchAll(/"rows":\s*(\d+)/g)];
    return Math.max(0, ...matches.map(([, rows]) => Number(rows)));
  } catch (cause) {
    return isFileMissing(cause) ? undefined : 0;
  }
}

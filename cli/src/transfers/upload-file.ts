import { readFile, rm, stat } from "node:fs/promises";
import { resolve as absolute } from "node:path";
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
import { assertColumns, ExampleMaker, toFeedback, typesOf } from "../rows/mapping.ts";
import type { Mapping } from "../rows/mapping.ts";
import { openRows } from "../rows/open-rows.ts";
import type { Format } from "../rows/open-rows.ts";
import { BadRow } from "../rows/source-row.ts";
import type { RowSource, SourceRow } from "../rows/source-row.ts";
import { showProgress } from "./show-progress.ts";

export type Noun = "examples" | "feedback" | "runs";

/** How files are uploaded, and to where. */
export interface UploadPlan {
  readonly noun: Noun;
  /** Of examples alone. */
  readonly dataset: DatasetKey;
  readonly createDataset: boolean;
  /** Of runs alone. */
  readonly project: string | undefined;
  readonly format: Format | undefined;
  readonly delimiter: string | undefined;
  readonly mapping: Mapping;
  /** `false`: none; `undefined`: beside each source. */
  readonly checkpoint: string | false | undefined;
  readonly settings: Pick<
    UploadSettings,
    "chunkBytes" | "chunkCount" | "inFlight" | "ordered" | "dryRun"
  >;
  readonly signal: AbortSignal;
  /** Called for each rejected row. */
  readonly onRejected: ((path: string, row: RejectedRow) => void) | undefined;
}

/** What became of one file. */
export interface FileResult extends UploadResult {
  readonly file: string;
  /** Where the rejected rows are; absent where there are none. */
  readonly rejectedFile?: string;
}

type Item = SourceRow | BadRow;

/** Uploads one file. */
export async function uploadFile(
  client: Client,
  path: string,
  plan: UploadPlan,
): Promise<FileResult> {
  const { format, delimiter, mapping, settings } = plan;
  const types = (columns: readonly string[]) => typesOf(mapping, columns);
  const source = await openRows({ path, format, csv: { delimiter, types } });
  const dryRun = settings.dryRun === true;
  const rejected = new RejectedFile(`${path === standardInput ? "stdin" : path}.rejected.jsonl`);
  const checkpoint = dryRun ? undefined : await checkpointOf(path, plan);
  const progress = showProgress(process.stderr, path, source.fraction);
  try {
    if (plan.noun === "examples" && source.columns !== undefined) {
      assertColumns(mapping, source.columns);
    }
    if (!dryRun) {
      await rejected.begin(checkpoint && (await rowsDone(checkpoint.path)));
    }
    let last: Item | undefined;
    const read = (item: Item): SourceRow => {
      last = item;
      if (item instanceof BadRow) {
        throw new ValidationError(item.reason);
      }
      return item;
    };
    const onRejected = async (row: RejectedRow): Promise<void> => {
      plan.onRejected?.(path, row);
      if (!dryRun) {
        await rejected.add(row, last);
      }
    };
    const { signal } = plan;
    const onProgress = progress.update;
    const result = await send(
      { client, source, plan, read },
      {
        ...settings,
        signal,
        onRejected,
        onProgress,
        onWait: progress.wait,
        checkpoint,
      },
    );
    if (checkpoint !== undefined) {
      // All of it is done: the same file once more is another upload, which its ids make harmless.
      await rm(checkpoint.path, { force: true });
    }
    return {
      file: path,
      ...result,
      ...(rejected.hasRows ? { rejectedFile: rejected.path } : {}),
    };
  } finally {
    progress.stop();
    await rejected.close();
    await source.close();
  }
}

interface Sending {
  readonly client: Client;
  readonly source: RowSource;
  readonly plan: UploadPlan;
  readonly read: (item: Item) => SourceRow;
}

function send(
  { client, source, plan, read }: Sending,
  settings: UploadSettings,
): Promise<UploadResult> {
  const { mapping, noun, dataset, createDataset, project } = plan;
  const maker = new ExampleMaker(mapping, source.columns);
  const idFrom = (item: Item): string | undefined => maker.keyOf(read(item));
  switch (noun) {
    case "examples":
      return client.examples.upload(source.rows, {
        ...settings,
        ...dataset,
        createDataset,
        idFrom,
        toExample: (item): NewExample => maker.make(read(item)),
      });
    case "feedback":
      return client.feedback.upload(source.rows, {
        ...settings,
        toFeedback: (item): CreateFeedback => toFeedback(read(item)),
      });
    case "runs":
      return client.runs.upload(source.rows, {
        ...settings,
        projectName: project,
        toRun: (item): WirePost => read(item) as unknown as WirePost,
      });
  }
}

async function checkpointOf(
  path: string,
  { checkpoint, mapping }: UploadPlan,
): Promise<{ path: string; source: string } | undefined> {
  if (checkpoint === false || (checkpoint === undefined && path === standardInput)) {
    return undefined;
  }
  return {
    path: checkpoint ?? `${path}.millrace-checkpoint.json`,
    source: await fingerprint(path, mapping),
  };
}

/** Identifies a source: path, size, time, and the mapping of its columns. */
async function fingerprint(path: string, mapping: Mapping): Promise<string> {
  const columns = JSON.stringify(mapping, (_name, value: unknown) =>
    value instanceof Map ? [...value] : value,
  );
  if (path === standardInput) {
    return `standard input, columns ${columns}`;
  }
  const { size, mtimeMs } = await stat(path);
  const time = new Date(mtimeMs).toISOString();
  return `${absolute(path)} of ${size} bytes, changed ${time}, columns ${columns}`;
}

/** The number of rows that a checkpoint lists as done; `undefined` without a checkpoint. */
async function rowsDone(path: string): Promise<number | undefined> {
  try {
    // It may hold two records: the later one counts. What else is wrong with it is reported by the upload.
    const counts = [...(await readFile(path, "utf8")).matchAll(/"rows":\s*(\d+)/g)];
    return Math.max(0, ...counts.map(([, rows]) => Number(rows)));
  } catch (cause) {
    return isFileMissing(cause) ? undefined : 0;
  }
}

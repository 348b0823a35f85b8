import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { OptionError } from "../model/errors.ts";
import { checkHeaders } from "../model/options/headers.ts";
import { resolveOptions, findSendingProblem } from "../model/options/options.ts";
import { deadLetterFolder, parseDeadLetter } from "../workers/spool/dead-letters.ts";
import type { DeadLetterReason } from "../workers/spool/dead-letters.ts";
import { frameKind, readSegment, parseSalt } from "../workers/spool/spool-format.ts";
import { openFolder } from "../workers/spool/spool-folder.ts";
import { isAbandoned, isWriterDirectory } from "../workers/spool/writer-directory.ts";
import { quarantineFolderName, Spool } from "../workers/spool/spool.ts";
import type { ClientOptions } from "./client.ts";
import { Recording } from "../delivery/recording.ts";
import { consoleLogger } from "../delivery/reporter.ts";

/** The state of a file in the folder of a spool, which stores records of runs on disk until they are sent. */
export type SpoolFileState =
  /** The file belongs to a running client. */
  | "owned"
  /** The file belongs to a client that has ended. The next client sends it. */
  | "waiting"
  /** The file contains dead letters: the server refused its records. Only {@link replaySpool} sends them again. */
  | "dead"
  /** The file is quarantined because a part of it can't be read. Its readable records were sent. */
  | "quarantined";

/** What `inspectSpool` has found in one file of a spool. */
export interface SpoolFile {
  /** Path relative to the spool's folder. */
  readonly path: string;
  readonly state: SpoolFileState;
  readonly bytes: number;
  /** Number of readable records. A record is the start or the end of a run. */
  readonly records: number;
  /** The parts of the file that can't be read. */
  readonly faults: readonly SpoolFault[];
  /** Why the records are dead letters: what the server refused, and when. */
  readonly notes: readonly DeadLetterReason[];
}

export type { DeadLetterReason } from "../workers/spool/dead-letters.ts";
export type { RefusedRun } from "../model/records/shipping.ts";

/**
 * A part of a spool file that can't be read. It begins at the byte `at`. It is `damaged`, was not written completely
 * (`torn`), or was written by a newer version of Millrace (`newer`).
 */
export interface SpoolFault {
  readonly is: "damaged" | "torn" | "newer";
  readonly at: number;
  readonly bytes?: number;
}

/**
 * Lists the files in a spool's folder, the oldest first, without changing them. A file that is removed meanwhile is
 * left out.
 *
 * @throws the file system's error if the folder can't be read.
 */
export async function inspectSpool(folder: string): Promise<readonly SpoolFile[]> {
  const files: SpoolFile[] = [];
  for (const name of (await readdir(folder)).toSorted()) {
    const state = readState(folder, name);
    for (const segment of state === undefined ? [] : await listSegments(join(folder, name))) {
      const path = join(name, segment);
      const bytes = await readIfPresent(join(folder, path));
      if (bytes !== undefined && state !== undefined) {
        files.push({
          path,
          state,
          bytes: bytes.length,
          ...readContent(bytes, parseSalt(segment) ?? 0),
        });
      }
    }
  }
  return files;
}

function readState(folder: string, name: string): SpoolFileState | undefined {
  if (name === deadLetterFolder) {
    return "dead";
  }
  if (name === quarantineFolderName) {
    return "quarantined";
  }
  if (!isWriterDirectory(name)) {
    return undefined;
  }
  return isAbandoned(join(folder, name), name) ? "waiting" : "owned";
}

async function listSegments(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch((): string[] => []);
  return names.filter((name) => parseSalt(name) !== undefined).toSorted();
}

const readIfPresent = (path: string): Promise<Buffer | undefined> =>
  readFile(path).catch(() => undefined);

/** The content of a spool file, and the parts of the file that can't be read. */
type Content = Pick<SpoolFile, "records" | "faults" | "notes">;

function readContent(bytes: Buffer, salt: number): Content {
  let records = 0;
  const faults: SpoolFault[] = [];
  const notes: DeadLetterReason[] = [];
  for (const part of readSegment(bytes, salt)) {
    if (part.is !== "frame") {
      const size = part.is === "newer" ? {} : { bytes: part.bytes };
      faults.push({ is: part.is, at: part.at, ...size });
      continue;
    }
    records += part.records;
    if (part.kind === frameKind.refused) {
      notes.push(parseDeadLetter(part.body).note);
    }
  }
  return { records, faults, notes };
}

/** Options of {@link replaySpool}. */
export interface ReplayOptions extends Omit<ClientOptions, "spoolDir" | "enabled"> {
  readonly spoolDir: string;
  /** Time limit, in milliseconds. Records that are not sent by then stay on disk. */
  readonly limitMs: number;
  /** Whether dead letters are sent again. @defaultValue true */
  readonly deadLetters?: boolean;
}

/** How many of a folder's records were delivered, refused by the server, lost, or left on disk. */
export interface ReplayResult {
  readonly delivered: number;
  /** Number of records that the server refused. They become dead letters again. */
  readonly rejected: number;
  /** Number of records that were lost for another reason, such as a file that was removed meanwhile. */
  readonly dropped: number;
  /** Number of records that are still on disk, waiting to be sent. */
  readonly left: number;
}

/**
 * Sends the records in a spool's folder, including dead letters, and returns their counts by outcome. Files of running
 * clients are left unchanged. Records that the server refuses again become dead letters again.
 *
 * @throws `OptionError` if an option has an invalid value.
 * @throws `Error` if the folder belongs to another user, or every user can write to it.
 * @throws the file system's error if the folder can't be read or written.
 */
export async function replaySpool({
  limitMs,
  deadLetters = true,
  headers,
  logger = consoleLogger,
  ...clientOptions
}: ReplayOptions): Promise<ReplayResult> {
  // Throw if the folder does not exist: the path is then probably wrong.
  await readdir(clientOptions.spoolDir);
  openFolder(clientOptions.spoolDir);
  const explicitOptions = { ...clientOptions, headers };
  const resolved = resolveOptions(explicitOptions, process.env);
  const sendingProblem = findSendingProblem(resolved);
  if (sendingProblem !== undefined) {
    throw new OptionError(sendingProblem);
  }
  // An environment variable that disables tracing must not prevent sending records that were stored earlier.
  const options = { ...resolved, enabled: true };
  if (deadLetters) {
    await requeueDeadLetters(clientOptions.spoolDir);
  }
  const checkedHeaders = options.otlp?.headers ?? checkHeaders(headers);
  const recording = new Recording(options, { headers: checkedHeaders, logger }, process.env);
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  await Promise.race([recording.caughtUp, limit]);
  clearTimeout(timer);
  await recording.close(0);
  const { delivered, rejected, dropped } = recording.stats();
  const files = await inspectSpool(clientOptions.spoolDir);
  const waiting = files.filter(({ state }) => state === "waiting");
  const remaining = waiting.reduce((sum, { records }) => sum + records, 0);
  return { delivered, rejected, dropped, left: remaining };
}

/**
 * Moves dead letters, the records that the server refused, back to the records that the spool sends. If the process
 * crashes between copying and removing a file, its records are sent twice.
 */
async function requeueDeadLetters(folder: string): Promise<void> {
  const deadLetterPath = join(folder, deadLetterFolder);
  const spool = new Spool({
    folder,
    // The quota is unlimited, because requeued dead letters must not evict other records.
    quotaBytes: Number.MAX_SAFE_INTEGER,
    syncMs: 500,
    onLost: () => undefined,
    onFault: () => undefined,
  });
  try {
    for (const name of await listSegments(deadLetterPath)) {
      const bytes = await readFile(join(deadLetterPath, name));
      for (const part of readSegment(bytes, parseSalt(name) ?? 0)) {
        if (part.is === "frame" && part.kind === frameKind.refused) {
          spool.append(parseDeadLetter(part.body).records, part.records);
        }
      }
      await rm(join(deadLetterPath, name), { force: true });
    }
  } finally {
    spool.close();
  }
}

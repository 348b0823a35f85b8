import { readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { OptionError } from "../model/errors.ts";
import { checkHeaders } from "../model/options/headers.ts";
import { resolveOptions, findSendingProblem } from "../model/options/options.ts";
import { deadLetterFolder, parseDeadLetter } from "../workers/spool/dead-letters.ts";
import type { DeadLetterReason } from "../workers/spool/dead-letters.ts";
import {
  frameHeadBytes,
  frameKind,
  readSegment,
  parseSalt,
} from "../workers/spool/spool-format.ts";
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
  /**
   * The file contains dead letters: the server refused its records. Only {@link replaySpool} sends them again. Parts that
   * it can't read stay in the file.
   */
  | "dead"
  /** The file is quarantined because a part of it can't be read. Its readable records were sent. */
  | "quarantined";

/** What `inspectSpool` has found in one file of a spool. */
export interface SpoolFile {
  /** Path relative to the spool's folder; that of a folder if its files can't be listed. */
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
 * (`torn`), or was written by a newer version of Millrace (`newer`). A file that can't be opened or read, for example
 * because of its permissions, is `unreadable` from the byte 0.
 */
export interface SpoolFault {
  readonly is: "damaged" | "torn" | "newer" | "unreadable";
  readonly at: number;
  readonly bytes?: number;
  /** The file system's message; only of `unreadable`. */
  readonly reason?: string;
}

/**
 * Lists the files in a spool's folder, the oldest first, without changing them. A file that is removed meanwhile is
 * left out. A file that can't be read is listed with the fault `unreadable`.
 *
 * @throws the file system's error if the folder can't be read.
 */
export async function inspectSpool(folder: string): Promise<readonly SpoolFile[]> {
  const files: SpoolFile[] = [];
  for (const name of (await readdir(folder)).toSorted()) {
    const state = readState(folder, name);
    if (state !== undefined) {
      files.push(...(await inspectDirectory(folder, name, state)));
    }
  }
  return files;
}

async function inspectDirectory(
  folder: string,
  directory: string,
  state: SpoolFileState,
): Promise<readonly SpoolFile[]> {
  let segments: readonly string[];
  try {
    segments = await listSegments(join(folder, directory));
  } catch (error) {
    return [{ path: directory, state, bytes: 0, ...createUnreadableContent(error) }];
  }
  const files: SpoolFile[] = [];
  for (const segment of segments) {
    const path = join(directory, segment);
    try {
      const bytes = await readIfPresent(join(folder, path));
      if (bytes !== undefined) {
        const content = readContent(bytes, parseSalt(segment) ?? 0);
        files.push({ path, state, bytes: bytes.length, ...content });
      }
    } catch (error) {
      const size = await stat(join(folder, path)).then(
        (stats) => stats.size,
        () => 0,
      );
      files.push({ path, state, bytes: size, ...createUnreadableContent(error) });
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

/**
 * Lists the files in a directory of the spool, the oldest first; none if there is no such directory.
 *
 * @throws the file system's error if the directory can't be read.
 */
async function listSegments(directory: string): Promise<readonly string[]> {
  const names = (await ifPresent(readdir(directory))) ?? [];
  return names.filter((name) => parseSalt(name) !== undefined).toSorted();
}

/**
 * Reads a file; `undefined` if it does not exist.
 *
 * @throws the file system's error if the file exists and can't be read.
 */
const readIfPresent = (path: string): Promise<Buffer | undefined> => ifPresent(readFile(path));

const ifPresent = <T>(reading: Promise<T>): Promise<T | undefined> =>
  reading.catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") {
      return undefined;
    }
    throw error;
  });

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
    const letter = part.kind === frameKind.refused ? readDeadLetter(part.body) : undefined;
    if (part.kind === frameKind.refused && letter === undefined) {
      faults.push({ is: "damaged", at: part.at, bytes: frameHeadBytes + part.body.length });
      continue;
    }
    records += part.records;
    if (letter !== undefined) {
      notes.push(letter.note);
    }
  }
  return { records, faults, notes };
}

/** Like {@link parseDeadLetter}, but returns `undefined` if the dead letter is malformed. */
function readDeadLetter(body: Buffer): ReturnType<typeof parseDeadLetter> | undefined {
  try {
    return parseDeadLetter(body);
  } catch {
    // The caller reports the frame as a fault of the file.
    return undefined;
  }
}

const createUnreadableContent = (error: unknown): Content => ({
  records: 0,
  faults: [
    {
      is: "unreadable",
      at: 0,
      reason: error instanceof Error ? error.message : String(error),
    },
  ],
  notes: [],
});

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
  /**
   * Paths, relative to the spool's folder, of files that are still there because parts of them can't be read.
   * {@link inspectSpool} lists these parts. Their records are in none of the counts.
   */
  readonly unreadable: readonly string[];
}

/**
 * Sends the records in a spool's folder, including dead letters, and returns their counts by outcome. Files of running
 * clients are left unchanged. Records that the server refuses again become dead letters again. Parts of dead letters that
 * this version can't read stay on disk, and are not sent.
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
  const keptFiles = deadLetters ? await requeueDeadLetters(clientOptions.spoolDir) : [];
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
  const unreadable = waiting.filter(({ faults }) => faults.length > 0).map(({ path }) => path);
  return {
    delivered,
    rejected,
    dropped,
    left: remaining,
    unreadable: [...keptFiles, ...unreadable],
  };
}

/**
 * Moves dead letters, the records that the server refused, back to the records that the spool sends. Parts that can't be
 * read stay in their files. If the process crashes between copying and removing records, they are sent twice.
 *
 * @returns the paths, relative to the spool's folder, of the files that remain.
 * @throws the file system's error if the folder can't be read or written.
 */
async function requeueDeadLetters(folder: string): Promise<readonly string[]> {
  const deadLetterPath = join(folder, deadLetterFolder);
  const spool = new Spool({
    folder,
    // The quota is unlimited, because requeued dead letters must not evict other records.
    quotaBytes: Number.MAX_SAFE_INTEGER,
    syncMs: 500,
    onLost: () => undefined,
    onFault: () => undefined,
  });
  const keptFiles: string[] = [];
  try {
    for (const name of await listSegments(deadLetterPath)) {
      if (!(await requeueFile(join(deadLetterPath, name), parseSalt(name) ?? 0, spool))) {
        keptFiles.push(join(deadLetterFolder, name));
      }
    }
  } finally {
    spool.close();
  }
  return keptFiles;
}

/**
 * Moves the records of a file of dead letters to the spool. Returns `false` if the file remains, because it or a part of
 * it can't be read.
 */
async function requeueFile(path: string, salt: number, spool: Spool): Promise<boolean> {
  let bytes: Buffer | undefined;
  try {
    bytes = await readIfPresent(path);
  } catch {
    // The caller reports the file.
    return false;
  }
  if (bytes === undefined) {
    return true;
  }
  const unreadBytes = requeueRecords(bytes, salt, spool);
  if (unreadBytes.length === 0) {
    await rm(path, { force: true });
    return true;
  }
  if (unreadBytes.length < bytes.length) {
    await replaceFile(path, unreadBytes);
  }
  return false;
}

/** Appends the records of a file of dead letters to the spool, and returns the other parts of the file. */
function requeueRecords(bytes: Buffer, salt: number, spool: Spool): Buffer {
  const parts = [...readSegment(bytes, salt)];
  const unreadParts: Buffer[] = [];
  for (const [index, part] of parts.entries()) {
    const letter =
      part.is === "frame" && part.kind === frameKind.refused
        ? readDeadLetter(part.body)
        : undefined;
    if (part.is === "frame" && letter !== undefined) {
      spool.append(letter.records, part.records);
    } else {
      unreadParts.push(bytes.subarray(part.at, parts[index + 1]?.at));
    }
  }
  return Buffer.concat(unreadParts);
}

/** Replaces the content of a file: after a crash it has the old content or the new one. */
async function replaceFile(path: string, content: Buffer): Promise<void> {
  const temporaryPath = `${path}.tmp`;
  await writeFile(temporaryPath, content, { mode: 0o600, flush: true });
  await rename(temporaryPath, path);
}

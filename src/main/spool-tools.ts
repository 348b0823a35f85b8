import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { OptionError } from "../model/errors.ts";
import { checkHeaders, resolveOptions, sendsNothing } from "../model/options/options.ts";
import { deadFolder, readLetter } from "../workers/spool/dead-letters.ts";
import type { DeathNote } from "../workers/spool/dead-letters.ts";
import { frameKind, readSegment, saltOf } from "../workers/spool/spool-format.ts";
import { openFolder } from "../workers/spool/spool-folder.ts";
import { isAbandoned, isWriterDirectory } from "../workers/spool/writer-directory.ts";
import { quarantineFolderName, Spool } from "../workers/spool/spool.ts";
import type { ClientOptions } from "./client.ts";
import { Recording } from "../delivery/recording.ts";
import { consoleLogger } from "../delivery/reporter.ts";

/** What a file of a spool's folder is for. */
export type SpoolFileState =
  /** Of a client that runs. */
  | "owned"
  /** Of a client that is gone: the next one sends it. */
  | "waiting"
  /** Refused by the server: sent again only by {@link replaySpool}. */
  | "dead"
  /** Sent but for what can't be read in it. */
  | "aside";

/** One segment of a spool's folder. */
export interface SpoolFile {
  /** Path below the spool's folder. */
  readonly path: string;
  readonly state: SpoolFileState;
  readonly bytes: number;
  /** Records that can be read. */
  readonly records: number;
  /** What can't be read: kind, place and size in bytes. */
  readonly faults: readonly SpoolFault[];
  /** Why they are dead letters. */
  readonly notes: readonly DeathNote[];
}

export type { DeathNote } from "../workers/spool/dead-letters.ts";
export type { RefusedRun } from "../model/records/shipping.ts";

export interface SpoolFault {
  readonly is: "damaged" | "torn" | "newer";
  readonly at: number;
  readonly bytes?: number;
}

/**
 * Reads a spool's folder and changes nothing in it; the oldest first. A file that goes while it is read
 * is left out.
 *
 * @throws the file system's error: the folder can't be read.
 */
export async function inspectSpool(folder: string): Promise<readonly SpoolFile[]> {
  const files: SpoolFile[] = [];
  for (const name of (await readdir(folder)).toSorted()) {
    const state = stateOf(folder, name);
    for (const segment of state === undefined ? [] : await segmentsIn(join(folder, name))) {
      const path = join(name, segment);
      const bytes = await readIfThere(join(folder, path));
      if (bytes !== undefined && state !== undefined) {
        files.push({ path, state, bytes: bytes.length, ...contentOf(bytes, saltOf(segment) ?? 0) });
      }
    }
  }
  return files;
}

function stateOf(folder: string, name: string): SpoolFileState | undefined {
  if (name === deadFolder) {
    return "dead";
  }
  if (name === quarantineFolderName) {
    return "aside";
  }
  if (!isWriterDirectory(name)) {
    return undefined;
  }
  return isAbandoned(join(folder, name), name) ? "waiting" : "owned";
}

async function segmentsIn(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch((): string[] => []);
  return names.filter((name) => saltOf(name) !== undefined).toSorted();
}

const readIfThere = (path: string): Promise<Buffer | undefined> =>
  readFile(path).catch(() => undefined);

type Content = Pick<SpoolFile, "records" | "faults" | "notes">;

function contentOf(bytes: Buffer, salt: number): Content {
  let records = 0;
  const faults: SpoolFault[] = [];
  const notes: DeathNote[] = [];
  for (const part of readSegment(bytes, salt)) {
    if (part.is !== "frame") {
      const size = part.is === "newer" ? {} : { bytes: part.bytes };
      faults.push({ is: part.is, at: part.at, ...size });
      continue;
    }
    records += part.records;
    if (part.kind === frameKind.refused) {
      notes.push(readLetter(part.body).note);
    }
  }
  return { records, faults, notes };
}

export interface ReplayOptions extends Omit<ClientOptions, "spoolDir" | "enabled"> {
  readonly spoolDir: string;
  /** Longest that it takes, in milliseconds. What is not sent by then stays on disk. */
  readonly limitMs: number;
  /** Whether dead letters are sent once more. @defaultValue true */
  readonly deadLetters?: boolean;
}

/** What became of a folder's records. */
export interface ReplayResult {
  readonly delivered: number;
  /** By the server, once more: dead letters again. */
  readonly rejected: number;
  /** Lost for another reason, such as a file that was removed meanwhile. */
  readonly dropped: number;
  /** On disk still. */
  readonly left: number;
}

/**
 * Sends what is in a spool's folder, dead letters included, and answers what became of it. Directories of
 * clients that run are left to them. What the server refuses again is a dead letter again.
 *
 * @throws `OptionError` an option has a value that it can't have.
 * @throws `Error` the folder belongs to another user, or every user can write to it.
 * @throws the file system's error: dead letters can't be read or made ready.
 */
export async function replaySpool({
  limitMs,
  deadLetters = true,
  headers,
  logger = consoleLogger,
  ...given
}: ReplayOptions): Promise<ReplayResult> {
  // A folder that is not there is a mistake, not an empty spool.
  await readdir(given.spoolDir);
  openFolder(given.spoolDir);
  const resolved = resolveOptions(given, process.env);
  const refusal = sendsNothing(resolved);
  if (refusal !== undefined) {
    throw new OptionError(refusal);
  }
  // A variable that turns tracing off is about what is recorded, not about what was.
  const options = { ...resolved, enabled: true };
  if (deadLetters) {
    await revive(given.spoolDir);
  }
  const recording = new Recording(options, { headers: checkHeaders(headers), logger }, process.env);
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  await Promise.race([recording.caughtUp, limit]);
  clearTimeout(timer);
  await recording.close(0);
  const { delivered, rejected, dropped } = recording.stats();
  const files = await inspectSpool(given.spoolDir);
  const waiting = files.filter(({ state }) => state === "waiting");
  const left = waiting.reduce((sum, { records }) => sum + records, 0);
  return { delivered, rejected, dropped, left };
}

/** Moves dead letters back into a writer directory. After a crash in between, one that exists in both places is sent twice. */
async function revive(folder: string): Promise<void> {
  const dead = join(folder, deadFolder);
  const spool = new Spool({
    folder,
    // Nothing is to go for it.
    quotaBytes: Number.MAX_SAFE_INTEGER,
    syncMs: 500,
    onLost: () => undefined,
    onTrouble: () => undefined,
  });
  try {
    for (const name of await segmentsIn(dead)) {
      const bytes = await readFile(join(dead, name));
      for (const part of readSegment(bytes, saltOf(name) ?? 0)) {
        if (part.is === "frame" && part.kind === frameKind.refused) {
          spool.append(readLetter(part.body).records, part.records);
        }
      }
      await rm(join(dead, name), { force: true });
    }
  } finally {
    spool.close();
  }
}

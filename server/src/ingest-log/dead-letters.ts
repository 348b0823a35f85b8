import type { StoredMsg } from "nats";
import { RequestError } from "../model/errors.ts";
import { errorCodeOf, errorCodes } from "./jetstream-errors.ts";
import type { LogConnection } from "./log-connection.ts";
import { logLimits, logNames } from "./log-limits.ts";
import type { DeadLetter } from "./log-report.ts";
import { decodeMessage, encodeReference, MessageError } from "./message-format.ts";

/**
 * Why a message became a dead letter, and whose message it was. A dead letter is a message whose runs can't be stored.
 */
export interface DeadLetterReason {
  readonly tenantId: string | null;
  readonly reason: string;
}

/**
 * Prefix of the names of the objects that contain large dead letters. `deleteOrphans` keeps objects with this prefix:
 * no message in the log refers to them, so it would otherwise delete them.
 */
export const deadObjectPrefix = "dead-";

/**
 * Stores a message whose runs can't be stored in the database as a dead letter, until somebody replays it.
 *
 * @throws RequestError the dead letter can't be stored, so the message must stay in the log.
 */
export async function addDeadLetter(
  log: LogConnection,
  message: Uint8Array,
  { tenantId, reason }: DeadLetterReason,
): Promise<void> {
  const isLarge = message.byteLength > log.messageBytes;
  const storedMessage = isLarge
    ? encodeReference(tenantId ?? "", await log.putObject(message, deadObjectPrefix))
    : message;
  const description = { time: new Date().toISOString(), tenantId, reason: shorten(reason) };
  await log.appendDeadLetter(storedMessage, toHeader(JSON.stringify(description)));
}

/** Lists at most `limit` dead letters, the oldest first. */
export async function listDeadLetters(
  log: LogConnection,
  limit: number,
): Promise<readonly DeadLetter[]> {
  const letters: DeadLetter[] = [];
  for await (const { letter } of readDeadLetters(log)) {
    if (letters.length >= limit) {
      break;
    }
    letters.push(letter);
  }
  return letters;
}

/**
 * Puts dead letters back into the log, so that a writer tries again to store their runs: those with the given numbers,
 * or all. Returns how many were replayed. An interrupted replay can be repeated, because a run is stored only once.
 * Several replays may run at the same time.
 *
 * @throws RequestError 404: there is no dead letter with one of the numbers; the others were replayed. 429 or 503: the
 * log is full or can't be reached.
 */
export async function replayDeadLetters(
  log: LogConnection,
  sequences: readonly number[] | "all",
): Promise<number> {
  const wanted = sequences === "all" ? undefined : new Set(sequences);
  let replayed = 0;
  for await (const { letter, message } of readDeadLetters(log, wanted)) {
    const isReplayed = await replayLetter(log, letter.sequence, message);
    wanted?.delete(letter.sequence);
    replayed += isReplayed ? 1 : 0;
  }
  if (wanted !== undefined && wanted.size > 0) {
    throw new RequestError(
      404,
      `there is no dead letter with the number ${[...wanted].join(", ")}: run millrace log dead-letters to list all of them`,
    );
  }
  return replayed;
}

/** Returns false if another replay has deleted the dead letter meanwhile. */
async function replayLetter(
  log: LogConnection,
  sequence: number,
  message: Uint8Array,
): Promise<boolean> {
  const object = findObject(message);
  try {
    await log.append(object === undefined ? message : await restoreObject(log, object));
    await log.manager.streams.deleteMessage(logNames.deadStream, sequence);
  } catch (cause) {
    // The error of a deletion that finds no message depends on the version of NATS.
    const isDeleted = await readLetter(log, sequence).then(
      (letter) => letter === undefined,
      () => false,
    );
    if (isDeleted) {
      return false;
    }
    throw cause;
  }
  if (object !== undefined) {
    await log.deleteObject(object.name);
  }
  return true;
}

interface StoredLetter {
  readonly letter: DeadLetter;
  readonly message: Uint8Array;
}

/** Reads dead letters, one after the other, because each may be a megabyte long. */
async function* readDeadLetters(
  log: LogConnection,
  wanted?: ReadonlySet<number>,
): AsyncGenerator<StoredLetter> {
  const { state } = await log.manager.streams.info(logNames.deadStream, { deleted_details: true });
  const deleted = new Set(state.deleted);
  for (let sequence = state.first_seq; sequence <= state.last_seq; sequence += 1) {
    if (deleted.has(sequence) || wanted?.has(sequence) === false) {
      continue;
    }
    const stored = await readLetter(log, sequence);
    if (stored === undefined) {
      continue;
    }
    const { data, header } = stored;
    const { time, tenantId, reason } = parseDescription(header.get(logNames.deadHeader));
    yield {
      letter: { sequence, time, tenantId, reason, bytes: data.byteLength },
      message: data,
    };
  }
}

/** Reads the message of a dead letter; `undefined` if a replay has deleted it. */
async function readLetter(log: LogConnection, sequence: number): Promise<StoredMsg | undefined> {
  try {
    return await log.manager.streams.getMessage(logNames.deadStream, { seq: sequence });
  } catch (cause) {
    if (errorCodeOf(cause) === errorCodes.noMessage) {
      return undefined;
    }
    throw cause;
  }
}

/** Finds the object to which a dead letter refers; `undefined` if the dead letter is the message itself. */
function findObject(
  message: Uint8Array,
): { readonly tenantId: string; readonly name: string } | undefined {
  try {
    const decoded = decodeMessage(message);
    const isObject = decoded.kind === "reference" && decoded.object.startsWith(deadObjectPrefix);
    return isObject ? { tenantId: decoded.tenantId, name: decoded.object } : undefined;
  } catch (cause) {
    if (cause instanceof MessageError) {
      return undefined; // The message is replayed unchanged, for a writer that can read it.
    }
    throw cause;
  }
}

async function restoreObject(
  log: LogConnection,
  { tenantId, name }: { readonly tenantId: string; readonly name: string },
): Promise<Uint8Array> {
  const content = await log.objects.getBlob(name);
  if (content === null) {
    throw new RequestError(404, `the object ${name} of a dead letter was deleted`);
  }
  return encodeReference(tenantId, await log.putObject(content));
}

function parseDescription(text: string): {
  readonly time: string;
  readonly tenantId: string | null;
  readonly reason: string;
} {
  const members = JSON.parse(text) as Readonly<Record<string, unknown>>;
  const { time, tenantId, reason } = members;
  return {
    time: String(time),
    tenantId: typeof tenantId === "string" ? tenantId : null,
    reason: String(reason),
  };
}

const shorten = (text: string): string =>
  text.length > logLimits.reasonChars ? `${text.slice(0, logLimits.reasonChars)}…` : text;

/** Escapes what a header can't contain: everything but ASCII. The text is JSON, so it has no line breaks. */
const toHeader = (json: string): string =>
  json.replaceAll(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

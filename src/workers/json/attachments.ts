import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { markerMimeType } from "../../model/records/attachment.ts";
import { longestShortText, tag } from "../../model/records/tape-format.ts";
import type { FileRules } from "../../model/records/shipping.ts";
import type { TapeReader } from "./tape-reader.ts";

/** An attachment of a run, as it is sent. */
export interface Attachment {
  readonly name: string;
  readonly mimeType: string;
  /** The record that it is of. */
  readonly record: number;
  readonly sizeBytes: number;
  /** Why a text stands in its place, where one does; what it says is {@link Attachment.open}'s. */
  readonly leftOut?: string;
  /** What it holds, in pieces with memory of their own. Can be opened again and again. */
  open(): AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

/** Bytes that are copied out of a tape at once. */
const pieceBytes = 262_144;

/** The runs with their attachments. Never rejects for a file: what can't be read becomes a marker. */
export async function withAttachments<Run extends { readonly records: readonly number[] }>(
  reader: TapeReader,
  runs: readonly Run[],
  rules: FileRules,
): Promise<readonly (Run & { readonly attachments?: readonly Attachment[] })[]> {
  if (!reader.hasAttachments) {
    return runs;
  }
  return await Promise.all(
    runs.map(async (run) => {
      const attachments = await attachmentsOf(reader, run.records, rules);
      return attachments.length === 0 ? run : { ...run, attachments };
    }),
  );
}

/** Those of some records of a run, the latest first: of the same name the first counts. */
async function attachmentsOf(
  reader: TapeReader,
  records: readonly number[],
  rules: FileRules,
): Promise<readonly Attachment[]> {
  const byName = new Map<string, Attachment>();
  for (const record of records) {
    // Of one record the last of a name counts, as in an object.
    for (const start of reader.attachments(record).toReversed()) {
      const name = readText(reader, start);
      if (!byName.has(name.text)) {
        byName.set(name.text, await attachmentAt(reader, { record, name, rules }));
      }
    }
  }
  return [...byName.values()].toReversed();
}

interface AttachmentPosition {
  readonly record: number;
  readonly name: ReadText;
  readonly rules: FileRules;
}

async function attachmentAt(
  reader: TapeReader,
  { record, name, rules }: AttachmentPosition,
): Promise<Attachment> {
  const mimeType = readText(reader, name.end);
  const at = mimeType.end;
  const head = { name: name.text, mimeType: mimeType.text, record };
  if (reader.bytes[at] !== tag.bytes) {
    return ofFile(head, readText(reader, at).text, rules);
  }
  const sizeAt = readText(reader, at + 1).end;
  const start = sizeAt + 4;
  const end = start + reader.view.getUint32(sizeAt, true);
  return inMemory(head, reader.bytes.subarray(start, end));
}

type Head = Pick<Attachment, "name" | "mimeType" | "record">;

/** An attachment that stands on the tape. */
export const inMemory = (head: Head, bytes: Buffer): Attachment => ({
  ...head,
  sizeBytes: bytes.length,
  *open() {
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      // A copy: memory that threads share is no memory for a socket.
      yield Buffer.from(bytes.subarray(at, at + pieceBytes));
    }
  },
});

/** A text in place of an attachment. */
export function leftOut({ name, record }: Attachment | Head, why: string): Attachment {
  const marker = Buffer.from(`[left out: ${why}]`);
  return { ...inMemory({ name, record, mimeType: markerMimeType }, marker), leftOut: why };
}

/** A file, of the size that it has now; read each time that it is sent. */
async function ofFile(
  head: Head,
  path: string,
  { allowed, limitBytes }: FileRules,
): Promise<Attachment> {
  if (!allowed) {
    return leftOut(head, "a path needs the option dangerouslyAllowFilesystem");
  }
  try {
    const found = await stat(path);
    if (!found.isFile()) {
      return leftOut(head, "its path is not that of a file");
    }
    return found.size > limitBytes
      ? leftOut(head, `${found.size} bytes, where ${limitBytes} are allowed`)
      : { ...head, sizeBytes: found.size, open: () => fileBytes(path, found.size) };
  } catch (error) {
    return leftOut(head, `its file can't be read (${codeOf(error)})`);
  }
}

/** The first `size` bytes. @throws the file went or became shorter: the next try finds out. */
async function* fileBytes(path: string, size: number): AsyncGenerator<Uint8Array, void> {
  let left = size;
  for await (const chunk of size === 0 ? [] : createReadStream(path, { end: size - 1 })) {
    const bytes = chunk as Buffer;
    left -= bytes.length;
    yield bytes;
  }
  if (left > 0) {
    throw new RangeError("the file of an attachment became shorter");
  }
}

const codeOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "code" in error
    ? String(error.code)
    : "unreadable";

interface ReadText {
  readonly text: string;
  /** Where the next value begins. */
  readonly end: number;
}

/** The tagged text at `at`. @throws RangeError there is no text at `at`. */
function readText({ bytes, view }: TapeReader, at: number): ReadText {
  const kind = bytes[at] ?? tag.null;
  if (kind >= tag.shortText) {
    const end = at + 1 + (kind & longestShortText);
    return { text: bytes.toString("utf8", at + 1, end), end };
  }
  if (kind !== tag.text && kind !== tag.wideText) {
    throw new RangeError(`No text at byte ${at} of the tape`);
  }
  const end = at + 5 + view.getUint32(at + 1, true);
  return { text: bytes.toString(kind === tag.text ? "utf8" : "utf16le", at + 5, end), end };
}

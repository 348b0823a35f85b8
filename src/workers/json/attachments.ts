import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { markerMimeType } from "../../model/records/attachment.ts";
import { tag } from "../../model/records/tape-format.ts";
import type { FileRules } from "../../model/records/shipping.ts";
import type { TapeReader } from "./tape-reader.ts";
import { readText } from "./tape-text.ts";
import type { ReadText } from "./tape-text.ts";

/** An attachment of a run, as it is sent. */
export interface Attachment {
  readonly name: string;
  readonly mimeType: string;
  /** Index of the record that has the attachment. */
  readonly record: number;
  readonly sizeBytes: number;
  /**
   * The reason why the attachment was replaced by a marker text; absent if it was not replaced. If it was,
   * {@link Attachment.openContent} returns the marker.
   */
  readonly omittedReason?: string;
  /** What the marker replaced; absent if the attachment was not replaced. */
  readonly original?: OriginalFacts;
  /** Reads the content in chunks that do not share memory with the recorded run. Can be called repeatedly. */
  openContent(): AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

/** What is known of an attachment that was replaced by a marker. */
interface OriginalFacts {
  readonly mimeType: string;
  /** Absent if the attachment is a file whose size was not read. */
  readonly sizeBytes?: number;
}

/** Bytes of one chunk of an attachment that is in memory. */
const chunkBytes = 262_144;

/**
 * Reads the attachments of the runs from the buffer in which they were recorded, and adds them to the runs. Never
 * rejects because of a file: a marker text replaces a file that can't be read.
 */
export async function addAttachments<Run extends { readonly records: readonly number[] }>(
  reader: TapeReader,
  runs: readonly Run[],
  rules: FileRules,
): Promise<readonly (Run & { readonly attachments?: readonly Attachment[] })[]> {
  if (!reader.hasAttachments) {
    return runs;
  }
  return await Promise.all(
    runs.map(async (run) => {
      const attachments = await readAttachments(reader, run.records, rules);
      return attachments.length === 0 ? run : { ...run, attachments };
    }),
  );
}

/**
 * Reads the attachments of a run's records. The latest record comes first, and of several
 * attachments with the same name the first is used.
 */
async function readAttachments(
  reader: TapeReader,
  records: readonly number[],
  rules: FileRules,
): Promise<readonly Attachment[]> {
  const byName = new Map<string, Attachment>();
  for (const record of records) {
    // Within one record the last attachment with a name is used, as with duplicate keys of an object.
    for (const start of reader.listAttachmentOffsets(record).toReversed()) {
      const name = readText(reader, start);
      if (!byName.has(name.text)) {
        byName.set(name.text, await readAttachmentAt(reader, { record, name, rules }));
      }
    }
  }
  return [...byName.values()].toReversed();
}

/** Where an attachment was recorded, and the rules for reading it. In the record, the content follows the name. */
interface AttachmentPosition {
  readonly record: number;
  readonly name: ReadText;
  readonly rules: FileRules;
}

async function readAttachmentAt(
  reader: TapeReader,
  { record, name, rules }: AttachmentPosition,
): Promise<Attachment> {
  const mimeType = readText(reader, name.end);
  const offset = mimeType.end;
  const head = { name: name.text, mimeType: mimeType.text, record };
  if (reader.bytes[offset] !== tag.bytes) {
    return createFileAttachment(head, readText(reader, offset).text, rules);
  }
  const sizeOffset = readText(reader, offset + 1).end;
  const start = sizeOffset + 4;
  const end = start + reader.view.getUint32(sizeOffset, true);
  return createMemoryAttachment(head, reader.bytes.subarray(start, end));
}

/** An attachment without its content. */
type AttachmentHead = Pick<Attachment, "name" | "mimeType" | "record"> & {
  readonly sizeBytes?: number;
};

/** Creates an attachment whose bytes are in memory. */
export const createMemoryAttachment = (head: AttachmentHead, bytes: Buffer): Attachment => ({
  ...head,
  sizeBytes: bytes.length,
  *openContent() {
    for (let offset = 0; offset < bytes.length; offset += chunkBytes) {
      // A copy, because a socket can't send from shared memory.
      yield Buffer.from(bytes.subarray(offset, offset + chunkBytes));
    }
  },
});

/** Creates a marker: a text that is sent in place of an attachment and states why the attachment is missing. */
export function createMarker(
  { name, record, mimeType, sizeBytes }: AttachmentHead,
  reason: string,
): Attachment {
  const marker = Buffer.from(`[left out: ${reason}]`);
  return {
    ...createMemoryAttachment({ name, record, mimeType: markerMimeType }, marker),
    omittedReason: reason,
    original: { mimeType, ...(sizeBytes === undefined ? {} : { sizeBytes }) },
  };
}

/**
 * Creates an attachment from a file. The size is read now, the content each time the attachment is
 * sent.
 */
async function createFileAttachment(
  head: AttachmentHead,
  path: string,
  { areAllowed, limitBytes }: FileRules,
): Promise<Attachment> {
  if (!areAllowed) {
    return createMarker(head, "reading a file requires the option dangerouslyAllowFilesystem");
  }
  try {
    const fileStat = await stat(path);
    if (!fileStat.isFile()) {
      return createMarker(head, "its path is not a regular file");
    }
    return fileStat.size > limitBytes
      ? createMarker(
          { ...head, sizeBytes: fileStat.size },
          `${fileStat.size} bytes exceed the limit of ${limitBytes}`,
        )
      : {
          ...head,
          sizeBytes: fileStat.size,
          openContent: () => readFileBytes(path, fileStat.size),
        };
  } catch (error) {
    return createMarker(head, `its file can't be read (${readErrorCode(error)})`);
  }
}

/**
 * Reads the first `size` bytes of a file.
 *
 * @throws RangeError if the file became shorter, or the file system's error if it no longer exists. The attempt to send
 * the batch then fails. The file is checked again only when the tape is sent again.
 */
async function* readFileBytes(path: string, size: number): AsyncGenerator<Uint8Array, void> {
  let remaining = size;
  for await (const chunk of size === 0 ? [] : createReadStream(path, { end: size - 1 })) {
    const bytes = chunk as Buffer;
    remaining -= bytes.length;
    yield bytes;
  }
  if (remaining > 0) {
    throw new RangeError("The file of an attachment became shorter while it was sent");
  }
}

const readErrorCode = (error: unknown): string =>
  typeof error === "object" && error !== null && "code" in error
    ? String(error.code)
    : "unreadable";

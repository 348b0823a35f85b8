import {
  isAttachmentName,
  isMimeType,
  longestAttachmentName,
  markerMimeType,
} from "../../model/records/attachment.ts";
import { field } from "../../model/records/tape-format.ts";
import { OversizedAttachment } from "./held-attachments.ts";
import { reasonOf } from "./object-kinds.ts";
import type { TapeWriter } from "./tape-writer.ts";
import { unlimited, textHeadBytes, utf8BytesPerUnit } from "./write-sizes.ts";

/** The keys that an attachment may have if it is an object. */
export const attachmentKeys = { mimeType: true, data: true, path: true } as const;

/** Limits and callbacks for checking attachments. */
export interface AttachmentRules {
  /** Largest total size of the attachments of one record, in bytes. */
  readonly attachmentBytes: number;
  /** Whether an attachment may be the path of a file. */
  readonly dangerouslyAllowFilesystem: boolean;
  /** Checks for unknown keys. Returns the reason to leave the attachment out, or `undefined`. */
  readonly checkKeys?: (attachment: object) => string | undefined;
  /** Called for each attachment that was replaced by a marker. */
  readonly onOmitted?: (message: string) => void;
  /** Called for each attachment that is sent under another name, because its own is not valid. */
  readonly onRenamed?: (message: string) => void;
}

/** An attachment that was checked: its bytes, or the path of a file. */
export interface CheckedAttachment {
  readonly name: string;
  readonly mimeType: string;
  readonly content: Uint8Array | string;
  /** The warning to log; set only if a marker replaces the attachment. */
  readonly warning?: string;
}

/**
 * Checks the attachments of a record. An attachment that can't be recorded is replaced by a text attachment with the
 * reason. In a name that is not valid, such as `photo.png`, the characters that are not allowed become `_`. The bytes
 * are not copied here. Never throws.
 */
export function checkAttachments(
  attachments: unknown,
  rules: AttachmentRules,
): readonly CheckedAttachment[] {
  let remainingBytes = rules.attachmentBytes;
  const entries = readEntries(attachments);
  const names = new ValidNames(entries.map(([name]) => name));
  const checked = entries.map(([givenName, read]): CheckedAttachment => {
    const name = names.resolve(givenName);
    const attachment = checkAttachment(name, read, { ...rules, attachmentBytes: remainingBytes });
    if (name !== givenName && attachment.warning === undefined) {
      rules.onRenamed?.(
        `Attachment ${quote(givenName)} is sent as ${quote(name)}: a name must have 1 to ${longestAttachmentName} characters and no dot, quote or control character`,
      );
    }
    remainingBytes -= typeof attachment.content === "string" ? 0 : attachment.content.length;
    return attachment;
  });
  for (const { warning } of checked) {
    if (warning !== undefined) {
      rules.onOmitted?.(warning);
    }
  }
  return checked;
}

/** Writes attachments as the last fields of the current record. */
export function writeAttachments(out: TapeWriter, attachments: readonly CheckedAttachment[]): void {
  out.reserve(attachments.reduce((sum, attachment) => sum + estimateSize(attachment), 0));
  for (const { name, mimeType, content, warning } of attachments) {
    const fieldStart = out.beginField(field.attachment, unlimited);
    out.writeText(name);
    out.writeText(mimeType);
    if (typeof content === "string") {
      out.writeText(content);
    } else {
      out.writeBinary("", content);
    }
    out.endField(fieldStart);
    out.truncatedFieldCount += warning === undefined ? 0 : 1;
  }
}

/** Upper bound of the bytes that an attachment takes in its record. */
function estimateSize({ name, mimeType, content }: CheckedAttachment): number {
  const texts = [name, mimeType, typeof content === "string" ? content : ""];
  const bytes = texts.reduce(
    (sum, text) => sum + textHeadBytes + utf8BytesPerUnit * (text.length + 16),
    16,
  );
  return bytes + (typeof content === "string" ? 0 : content.length);
}

/** The name of an attachment, and a function that reads the attachment. */
type AttachmentEntry = readonly [name: string, read: () => unknown];

/** Returns each name with a function that reads the attachment. Reading is deferred because a getter may throw. */
function readEntries(attachments: unknown): readonly AttachmentEntry[] {
  if (attachments === undefined || attachments === null) {
    return [];
  }
  try {
    if (typeof attachments === "object" && !Array.isArray(attachments)) {
      return Object.keys(attachments).map((name) => [
        name,
        () => Reflect.get(attachments, name) as unknown,
      ]);
    }
  } catch {
    // A proxy that throws when it is read. It is handled like any other value that is not an object.
  }
  // A single invalid entry, so that one marker and one warning are recorded for the whole value.
  return [["attachments", () => "not an object"]];
}

function checkAttachment(
  name: string,
  read: () => unknown,
  rules: AttachmentRules,
): CheckedAttachment {
  try {
    const { mimeType, content } = readContent(read(), rules);
    return { name, mimeType, content };
  } catch (error) {
    return createMarker(
      name,
      error instanceof InvalidAttachment ? error.message : `unreadable: ${reasonOf(error)}`,
    );
  }
}

/** Thrown for an invalid attachment. Its message becomes the text of the marker. */
class InvalidAttachment extends Error {}

function readContent(
  value: unknown,
  rules: AttachmentRules,
): Pick<CheckedAttachment, "mimeType" | "content"> {
  if (typeof value !== "object" || value === null) {
    throw new InvalidAttachment(
      "it is neither { mimeType, data }, { mimeType, path } nor [mimeType, data]",
    );
  }
  if (value instanceof OversizedAttachment) {
    throw createSizeError(value.bytes, rules.attachmentBytes);
  }
  const isTuple = Array.isArray(value);
  const problem = isTuple ? undefined : rules.checkKeys?.(value);
  if (problem !== undefined) {
    throw new InvalidAttachment(problem);
  }
  const [mimeType, data, path] = isTuple
    ? [value[0] as unknown, value[1] as unknown, undefined]
    : ["mimeType", "data", "path"].map((key): unknown => Reflect.get(value, key));
  if (typeof mimeType !== "string" || !isMimeType(mimeType)) {
    throw new InvalidAttachment("its mimeType is not a MIME type, such as image/png");
  }
  return { mimeType, content: path === undefined ? readBytes(data, rules) : readPath(path, rules) };
}

function readBytes(data: unknown, { attachmentBytes }: AttachmentRules): Uint8Array {
  const bytes = typeof data === "string" ? encodeText(data, attachmentBytes) : toBytes(data);
  if (bytes === undefined) {
    throw new InvalidAttachment(
      "its data is neither bytes nor a string; read a Blob into bytes first",
    );
  }
  if (bytes.length > attachmentBytes) {
    throw createSizeError(bytes.length, attachmentBytes);
  }
  return bytes;
}

function encodeText(text: string, limit: number): Uint8Array {
  const size = Buffer.byteLength(text);
  if (size > limit) {
    throw createSizeError(size, limit);
  }
  return Buffer.from(text);
}

const createSizeError = (size: number, limit: number): InvalidAttachment =>
  new InvalidAttachment(`its ${size} bytes exceed the limit of ${Math.max(0, limit)} bytes`);

function toBytes(data: unknown): Uint8Array | undefined {
  if (ArrayBuffer.isView(data)) {
    return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  }
  return data instanceof ArrayBuffer || data instanceof SharedArrayBuffer
    ? new Uint8Array(data)
    : undefined;
}

function readPath(path: unknown, { dangerouslyAllowFilesystem }: AttachmentRules): string {
  if (typeof path !== "string" || path === "" || path.includes("\0")) {
    throw new InvalidAttachment("its path must be a string that is not empty");
  }
  if (!dangerouslyAllowFilesystem) {
    throw new InvalidAttachment(
      "a path requires the option dangerouslyAllowFilesystem: set it, or pass the content as data",
    );
  }
  return path;
}

/** How many characters of an attachment's name a warning shows. */
const shownNameLength = 64;

const quote = (name: string): string => JSON.stringify(name.slice(0, shownNameLength));

function createMarker(name: string, reason: string): CheckedAttachment {
  const warning = `Attachment ${quote(name)} was left out: ${reason}`;
  return {
    name,
    mimeType: markerMimeType,
    content: Buffer.from(`[left out: ${reason}]`),
    warning,
  };
}

/** Gives each attachment of a record a valid name that no other attachment has. */
class ValidNames {
  readonly #taken: Set<string>;

  constructor(givenNames: readonly string[]) {
    this.#taken = new Set(givenNames.filter(isAttachmentName));
  }

  resolve(givenName: string): string {
    if (isAttachmentName(givenName)) {
      return givenName;
    }
    const base = sanitizeName(givenName);
    let name = base;
    for (let count = 2; this.#taken.has(name); count += 1) {
      const ending = `_${count}`;
      name = base.slice(0, longestAttachmentName - ending.length).toWellFormed() + ending;
    }
    this.#taken.add(name);
    return name;
  }
}

/** Converts a name into a valid attachment name, changing as little as possible. */
function sanitizeName(name: string): string {
  const shortened = name.slice(0, longestAttachmentName).toWellFormed();
  // oxlint-disable-next-line no-control-regex -- the expression replaces control characters
  const sanitized = shortened.replaceAll(/[."\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, "_");
  return sanitized === "" ? "unnamed" : sanitized;
}

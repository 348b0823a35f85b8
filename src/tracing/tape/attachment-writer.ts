import {
  isAttachmentName,
  isMimeType,
  longestAttachmentName,
  markerMimeType,
} from "../../model/records/attachment.ts";
import { field } from "../../model/records/tape-format.ts";
import { TooMuch } from "./held-attachments.ts";
import { reasonOf } from "./object-kinds.ts";
import type { TapeWriter } from "./tape-writer.ts";
import { noEnd, textHead, utf8Growth } from "./write-sizes.ts";

/** What an attachment has as an object. */
export const attachmentKeys = { mimeType: true, data: true, path: true } as const;

/** What attachments may be. */
export interface AttachmentRules {
  /** Bytes of one, and of those of one record together, that are copied. */
  readonly attachmentBytes: number;
  /** Whether a path may be given. */
  readonly dangerouslyAllowFilesystem: boolean;
  /** Checks for unknown keys. Returns the reason to leave the attachment out, or `undefined`. */
  readonly checkKeys?: (attachment: object) => string | undefined;
  /** Called for each attachment that was replaced by a marker. */
  readonly onLeftOut?: (message: string) => void;
}

/** An attachment that was checked: its bytes, or the path of a file. */
export interface CheckedAttachment {
  readonly name: string;
  readonly mimeType: string;
  readonly content: Uint8Array | string;
  /** Why it is a marker, where it is one. */
  readonly leftOut?: string;
}

/**
 * Checks an attachment of the caller. One that can't be recorded becomes a text attachment of the same name, where the name is
 * valid, with the reason. The bytes are not copied: they stay the caller's own. Never throws.
 */
export function checkAttachments(
  given: unknown,
  rules: AttachmentRules,
): readonly CheckedAttachment[] {
  let left = rules.attachmentBytes;
  const checked = entriesOf(given).map(([name, read]): CheckedAttachment => {
    const attachment = checkOne(name, read, { ...rules, attachmentBytes: left });
    left -= typeof attachment.content === "string" ? 0 : attachment.content.length;
    return attachment;
  });
  for (const { leftOut } of checked) {
    if (leftOut !== undefined) {
      rules.onLeftOut?.(leftOut);
    }
  }
  return checked;
}

/** Writes attachments into the record that is being written, as its last fields. */
export function writeAttachments(out: TapeWriter, attachments: readonly CheckedAttachment[]): void {
  out.reserve(attachments.reduce((sum, attachment) => sum + sizeOf(attachment), 0));
  for (const { name, mimeType, content, leftOut } of attachments) {
    const mark = out.beginField(field.attachment, noEnd);
    out.text(name);
    out.text(mimeType);
    if (typeof content === "string") {
      out.text(content);
    } else {
      out.binary("", content);
    }
    out.endField(mark);
    out.cutFields += leftOut === undefined ? 0 : 1;
  }
}

/** Bytes that an attachment takes on the tape, at most. */
function sizeOf({ name, mimeType, content }: CheckedAttachment): number {
  const texts = [name, mimeType, typeof content === "string" ? content : ""];
  const bytes = texts.reduce((sum, text) => sum + textHead + utf8Growth * (text.length + 16), 16);
  return bytes + (typeof content === "string" ? 0 : content.length);
}

type Entry = readonly [name: string, read: () => unknown];

/** Each name, and its value as it is read: a getter may throw. */
function entriesOf(given: unknown): readonly Entry[] {
  if (given === undefined || given === null) {
    return [];
  }
  try {
    if (typeof given === "object" && !Array.isArray(given)) {
      return Object.keys(given).map((name) => [name, () => Reflect.get(given, name) as unknown]);
    }
  } catch {
    // A proxy that throws when it is read. The reason below is reported.
  }
  return [["attachments", () => "no object"]];
}

function checkOne(name: string, read: () => unknown, rules: AttachmentRules): CheckedAttachment {
  try {
    const { mimeType, content } = contentOf(read(), rules);
    if (!isAttachmentName(name)) {
      return marker(
        name,
        `a name has 1 to ${longestAttachmentName} characters, and no dot, quote or control character`,
      );
    }
    return { name, mimeType, content };
  } catch (error) {
    return marker(
      name,
      error instanceof Refusal ? error.message : `unreadable: ${reasonOf(error)}`,
    );
  }
}

/** Why something is no attachment; becomes a marker. */
class Refusal extends Error {}

function contentOf(
  value: unknown,
  rules: AttachmentRules,
): Pick<CheckedAttachment, "mimeType" | "content"> {
  if (typeof value !== "object" || value === null) {
    throw new Refusal("it is neither { mimeType, data }, { mimeType, path } nor [mimeType, data]");
  }
  if (value instanceof TooMuch) {
    throw tooLarge(value.bytes, rules.attachmentBytes);
  }
  const isTuple = Array.isArray(value);
  const problem = isTuple ? undefined : rules.checkKeys?.(value);
  if (problem !== undefined) {
    throw new Refusal(problem);
  }
  const [mimeType, data, path] = isTuple
    ? [value[0] as unknown, value[1] as unknown, undefined]
    : ["mimeType", "data", "path"].map((key): unknown => Reflect.get(value, key));
  if (typeof mimeType !== "string" || !isMimeType(mimeType)) {
    throw new Refusal("its mimeType is not a type and a subtype, such as image/png");
  }
  return { mimeType, content: path === undefined ? bytesOf(data, rules) : pathOf(path, rules) };
}

function bytesOf(data: unknown, { attachmentBytes }: AttachmentRules): Uint8Array {
  const bytes = typeof data === "string" ? textBytes(data, attachmentBytes) : viewOf(data);
  if (bytes === undefined) {
    throw new Refusal("its data is neither bytes nor a text; a Blob has to be read first");
  }
  if (bytes.length > attachmentBytes) {
    throw tooLarge(bytes.length, attachmentBytes);
  }
  return bytes;
}

function textBytes(text: string, limit: number): Uint8Array {
  const size = Buffer.byteLength(text);
  if (size > limit) {
    throw tooLarge(size, limit);
  }
  return Buffer.from(text);
}

const tooLarge = (size: number, limit: number): Refusal =>
  new Refusal(`${size} bytes, where ${Math.max(0, limit)} are allowed`);

function viewOf(data: unknown): Uint8Array | undefined {
  if (ArrayBuffer.isView(data)) {
    return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  }
  return data instanceof ArrayBuffer || data instanceof SharedArrayBuffer
    ? new Uint8Array(data)
    : undefined;
}

function pathOf(path: unknown, { dangerouslyAllowFilesystem }: AttachmentRules): string {
  if (typeof path !== "string" || path === "" || path.includes("\0")) {
    throw new Refusal("its path is not a text that names a file");
  }
  if (!dangerouslyAllowFilesystem) {
    throw new Refusal(
      "a path needs the option dangerouslyAllowFilesystem: set it, or give the bytes as data",
    );
  }
  return path;
}

const shownName = 64;

function marker(name: string, why: string): CheckedAttachment {
  const leftOut = `Attachment ${JSON.stringify(name.slice(0, shownName))} was left out: ${why}`;
  return {
    name: nameLike(name),
    mimeType: markerMimeType,
    content: Buffer.from(`[left out: ${why}]`),
    leftOut,
  };
}

/** A name that can be one, and looks like what was given. */
function nameLike(name: string): string {
  const tried = name.slice(0, longestAttachmentName).toWellFormed();
  // oxlint-disable-next-line no-control-regex -- they are what is replaced
  const mended = tried.replaceAll(/[."\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, "_");
  return mended === "" ? "unnamed" : mended;
}

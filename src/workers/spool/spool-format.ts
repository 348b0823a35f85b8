import { crc32 } from "node:zlib";

/**
 * The bytes of a spool's files. A segment is frames one after another and nothing else; a frame is a
 * head and a body. Little-endian:
 *
 *     u32 magic, u8 version, u8 kind, u16 zero, u32 bytes of the body, u32 records in it,
 *     u32 CRC-32 of the body, u32 CRC-32 of the head before it
 *
 * Both checksums begin with the segment's salt, which is random and stands in its name: what a run
 * holds can't pass for a frame, and a reader that lost its way finds the next frame by its magic.
 */
export const frameHeadBytes = 24;
const magic = 0xa5_53_52_4d;
/** 2: its records may have attachments. All that was written as 1 is read as before. */
const frameVersion = 2;
const oldestVersion = 1;

/** What a frame's body is. */
export const frameKind = {
  /** Records one after another, as on a tape. */
  records: 1,
  /** u32 bytes of a JSON text that says why, that text, then records as above. */
  refused: 2,
  /** One record, written as it was made: frames of this kind that follow one another are one tape. */
  journal: 3,
} as const;

export interface FrameInit {
  readonly kind: number;
  readonly records: number;
  readonly salt: number;
}

/** The head that goes before `body`. */
export function frameHead(body: Uint8Array, { kind, records, salt }: FrameInit): Buffer {
  const head = Buffer.allocUnsafe(frameHeadBytes);
  head.writeUInt32LE(magic, 0);
  head[4] = frameVersion;
  head[5] = kind;
  head.writeUInt16LE(0, 6);
  head.writeUInt32LE(body.length, 8);
  head.writeUInt32LE(records, 12);
  head.writeUInt32LE(crc32(body, salt), 16);
  head.writeUInt32LE(crc32(head.subarray(0, 20), salt), 20);
  return head;
}

/** A part of a segment: a frame, or bytes that are not a frame. */
export type SegmentPart =
  | {
      readonly is: "frame";
      readonly at: number;
      readonly kind: number;
      readonly records: number;
      readonly body: Buffer;
    }
  /** Whole, of a version that this one can't read. */
  | { readonly is: "newer"; readonly at: number; readonly version: number }
  /** Something between or after frames that is no frame. */
  | { readonly is: "damaged"; readonly at: number; readonly bytes: number }
  /** A frame that breaks off at the end: its process died while it wrote. */
  | { readonly is: "torn"; readonly at: number; readonly bytes: number };

/** Reads all that can be trusted, in order; never throws. */
export function* readSegment(bytes: Buffer, salt: number): Generator<SegmentPart> {
  for (let at = 0; at < bytes.length;) {
    const part = partAt(bytes, at, salt);
    if (part.is === "frame") {
      yield part;
      at += frameHeadBytes + part.body.length;
    } else {
      const next = nextFrame(bytes, at + 1, salt);
      const isLast = next === bytes.length;
      yield part.is === "newer" || isLast ? part : { is: "damaged", at, bytes: next - at };
      at = next;
    }
  }
}

function partAt(bytes: Buffer, at: number, salt: number): SegmentPart {
  const left = bytes.length - at;
  if (!isHead(bytes, at, salt)) {
    // A head that was being written: the file ends within it.
    const torn = left < frameHeadBytes && startsLikeHead(bytes, at);
    return { is: torn ? "torn" : "damaged", at, bytes: left };
  }
  const version = bytes[at + 4] ?? 0;
  if (version < oldestVersion || version > frameVersion) {
    return { is: "newer", at, version };
  }
  const length = bytes.readUInt32LE(at + 8);
  if (length > left - frameHeadBytes) {
    return { is: "torn", at, bytes: left };
  }
  const body = bytes.subarray(at + frameHeadBytes, at + frameHeadBytes + length);
  if (crc32(body, salt) !== bytes.readUInt32LE(at + 16)) {
    return { is: "damaged", at, bytes: left };
  }
  return { is: "frame", at, kind: bytes[at + 5] ?? 0, records: bytes.readUInt32LE(at + 12), body };
}

/** Where the next head that can be trusted is, else the end. */
function nextFrame(bytes: Buffer, from: number, salt: number): number {
  for (let at = bytes.indexOf(magicBytes, from); at !== -1;) {
    if (isHead(bytes, at, salt)) {
      return at;
    }
    at = bytes.indexOf(magicBytes, at + 1);
  }
  return bytes.length;
}

const magicBytes = Buffer.alloc(4);
magicBytes.writeUInt32LE(magic, 0);

/** Verifies the head's own checksum first, so that a damaged length is never followed. */
const isHead = (bytes: Buffer, at: number, salt: number): boolean =>
  at + frameHeadBytes <= bytes.length &&
  bytes.readUInt32LE(at) === magic &&
  bytes.readUInt32LE(at + 20) === crc32(bytes.subarray(at, at + 20), salt);

const startsLikeHead = (bytes: Buffer, at: number): boolean => {
  const start = bytes.subarray(at, at + magicBytes.length);
  return start.equals(magicBytes.subarray(0, start.length));
};

const segmentPattern = /^(\d{8})-([0-9a-f]{8})\.seg$/;

/** Sorted by name is sorted by age. */
export const segmentName = (sequence: number, salt: number): string =>
  `${String(sequence).padStart(8, "0")}-${salt.toString(16).padStart(8, "0")}.seg`;

/** The salt of a segment of that name; `undefined` where it is no segment's. */
export function saltOf(name: string): number | undefined {
  const salt = segmentPattern.exec(name)?.[2];
  return salt === undefined ? undefined : Number.parseInt(salt, 16);
}

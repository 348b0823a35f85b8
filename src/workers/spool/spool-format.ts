import { crc32 } from "node:zlib";

/**
 * Byte format of the files of a spool. A segment is a sequence of frames and nothing else. A frame
 * is a head and a body. Numbers are little-endian:
 *
 *     u32 magic, u8 version, u8 kind, u16 zero, u32 bytes of the body, u32 records in it,
 *     u32 CRC-32 of the body, u32 CRC-32 of the head before it
 *
 * Both checksums are computed with the segment's salt as initial value. The salt is a random number, which is part of
 * the segment's file name. So the content of a run can't be mistaken for a frame, and after a damaged part a reader
 * finds the next frame by its magic number.
 */
export const frameHeadBytes = 24;
const magic = 0xa5_53_52_4d;
/** Version 2 allows attachments in records. Version 1 is still read. */
const frameVersion = 2;
const oldestVersion = 1;

/** What the body of a frame contains. */
export const frameKind = {
  /** A sequence of records, in the same format as in memory. */
  records: 1,
  /** The length (u32) of a JSON text with the reason, the text itself, then a sequence of records. */
  refused: 2,
  /** One record, written as soon as it was recorded. A reader joins the records of such frames into sequences. */
  journal: 3,
} as const;

/** The content of a frame's head that does not follow from its body. */
export interface FrameInit {
  readonly kind: number;
  readonly recordCount: number;
  readonly salt: number;
}

/** Creates the head that precedes `body`. */
export function createFrameHead(body: Uint8Array, { kind, recordCount, salt }: FrameInit): Buffer {
  const head = Buffer.allocUnsafe(frameHeadBytes);
  head.writeUInt32LE(magic, 0);
  head[4] = frameVersion;
  head[5] = kind;
  head.writeUInt16LE(0, 6);
  head.writeUInt32LE(body.length, 8);
  head.writeUInt32LE(recordCount, 12);
  head.writeUInt32LE(crc32(body, salt), 16);
  head.writeUInt32LE(crc32(head.subarray(0, 20), salt), 20);
  return head;
}

/** A part of a segment file: a frame, or bytes that are not a valid frame. */
export type SegmentPart =
  | {
      readonly is: "frame";
      readonly at: number;
      readonly kind: number;
      readonly records: number;
      readonly body: Buffer;
    }
  /** A complete frame of a version that this code can't read. */
  | { readonly is: "newer"; readonly at: number; readonly version: number }
  /** Bytes between or after frames that are not a frame. */
  | { readonly is: "damaged"; readonly at: number; readonly bytes: number }
  /** An incomplete frame at the end: the process ended while it wrote. */
  | { readonly is: "torn"; readonly at: number; readonly bytes: number };

/** Reads all valid frames in order, and reports the parts between them. Never throws. */
export function* readSegment(bytes: Buffer, salt: number): Generator<SegmentPart> {
  for (let offset = 0; offset < bytes.length;) {
    const part = readPartAt(bytes, offset, salt);
    if (part.is === "frame") {
      yield part;
      offset += frameHeadBytes + part.body.length;
    } else {
      const nextOffset = findNextFrame(bytes, offset + 1, salt);
      const isLast = nextOffset === bytes.length;
      yield part.is === "newer" || isLast
        ? part
        : { is: "damaged", at: offset, bytes: nextOffset - offset };
      offset = nextOffset;
    }
  }
}

function readPartAt(bytes: Buffer, offset: number, salt: number): SegmentPart {
  const remainingBytes = bytes.length - offset;
  if (!isHead(bytes, offset, salt)) {
    // If the file ends inside a head, the process ended while it wrote that head.
    const isTorn = remainingBytes < frameHeadBytes && isHeadStart(bytes, offset);
    return { is: isTorn ? "torn" : "damaged", at: offset, bytes: remainingBytes };
  }
  const version = bytes[offset + 4] ?? 0;
  if (version < oldestVersion || version > frameVersion) {
    return { is: "newer", at: offset, version };
  }
  const length = bytes.readUInt32LE(offset + 8);
  if (length > remainingBytes - frameHeadBytes) {
    return { is: "torn", at: offset, bytes: remainingBytes };
  }
  const body = bytes.subarray(offset + frameHeadBytes, offset + frameHeadBytes + length);
  if (crc32(body, salt) !== bytes.readUInt32LE(offset + 16)) {
    return { is: "damaged", at: offset, bytes: remainingBytes };
  }
  return {
    is: "frame",
    at: offset,
    kind: bytes[offset + 5] ?? 0,
    records: bytes.readUInt32LE(offset + 12),
    body,
  };
}

/** Returns the offset of the next valid head, or the end of the file. */
function findNextFrame(bytes: Buffer, start: number, salt: number): number {
  for (let offset = bytes.indexOf(magicBytes, start); offset !== -1;) {
    if (isHead(bytes, offset, salt)) {
      return offset;
    }
    offset = bytes.indexOf(magicBytes, offset + 1);
  }
  return bytes.length;
}

const magicBytes = Buffer.alloc(4);
magicBytes.writeUInt32LE(magic, 0);

/**
 * Whether a head with a valid checksum is at `offset`. Check this before reading the head, because its length may be
 * damaged.
 */
const isHead = (bytes: Buffer, offset: number, salt: number): boolean =>
  offset + frameHeadBytes <= bytes.length &&
  bytes.readUInt32LE(offset) === magic &&
  bytes.readUInt32LE(offset + 20) === crc32(bytes.subarray(offset, offset + 20), salt);

const isHeadStart = (bytes: Buffer, offset: number): boolean => {
  const start = bytes.subarray(offset, offset + magicBytes.length);
  return start.equals(magicBytes.subarray(0, start.length));
};

const segmentPattern = /^(\d{8})-([0-9a-f]{8})\.seg$/;

/** Formats the file name of a segment. Sorting by name sorts by age. */
export const formatSegmentName = (sequence: number, salt: number): string =>
  `${String(sequence).padStart(8, "0")}-${salt.toString(16).padStart(8, "0")}.seg`;

/** Reads the salt from a segment's file name; `undefined` if the name is not that of a segment. */
export function parseSalt(name: string): number | undefined {
  const salt = segmentPattern.exec(name)?.[2];
  return salt === undefined ? undefined : Number.parseInt(salt, 16);
}

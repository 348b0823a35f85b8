import { longestShortText, tag } from "../../model/records/tape-format.ts";

/** Bytes with a view of the same memory: a tape, or a part of one. */
export interface TapeBytes {
  readonly bytes: Buffer;
  readonly view: DataView;
}

/** A value that was read, and the offset of the next one. */
interface ReadValue {
  readonly value: unknown;
  readonly end: number;
}

/**
 * Returns the tagged value at `offset`, which begins with a byte that states its type, as a JavaScript value. Binary
 * data is copied, because not every decoder accepts shared memory.
 *
 * @throws RangeError if there is no value at `offset`.
 */
export function readTaggedValue(tape: TapeBytes, offset: number): ReadValue {
  const { bytes, view } = tape;
  const tagByte = bytes[offset] ?? tag.end;
  if (tagByte >= tag.shortText) {
    const end = offset + 1 + (tagByte & longestShortText);
    return { value: bytes.toString("utf8", offset + 1, end), end };
  }
  switch (tagByte) {
    case tag.null:
      return { value: null, end: offset + 1 };
    case tag.false:
    case tag.true:
      return { value: tagByte === tag.true, end: offset + 1 };
    case tag.int:
      return { value: view.getInt32(offset + 1, true), end: offset + 5 };
    case tag.double:
      return { value: view.getFloat64(offset + 1, true), end: offset + 9 };
    case tag.text:
    case tag.wideText: {
      const end = offset + 5 + view.getUint32(offset + 1, true);
      const encoding = tagByte === tag.text ? "utf8" : "utf16le";
      return { value: bytes.toString(encoding, offset + 5, end), end };
    }
    case tag.bytes: {
      const start = skipTaggedValue(tape, offset + 1) + 4;
      const end = start + view.getUint32(start - 4, true);
      return { value: Buffer.from(bytes.subarray(start, end)), end };
    }
    case tag.array:
      return readArray(tape, offset + 1);
    case tag.object:
      return readObject(tape, offset + 1);
    default:
      throw new RangeError(`No value at byte ${offset} of the tape`);
  }
}

function readArray(tape: TapeBytes, start: number): ReadValue {
  const items: unknown[] = [];
  let offset = start;
  while (tape.bytes[offset] !== tag.end) {
    const item = readTaggedValue(tape, offset);
    items.push(item.value);
    offset = item.end;
  }
  return { value: items, end: offset + 1 };
}

function readObject(tape: TapeBytes, start: number): ReadValue {
  const entries: [string, unknown][] = [];
  let offset = start;
  while (tape.bytes[offset] !== tag.end) {
    const key = readTaggedValue(tape, offset);
    const item = readTaggedValue(tape, key.end);
    entries.push([String(key.value), item.value]);
    offset = item.end;
  }
  return { value: Object.fromEntries(entries), end: offset + 1 };
}

/**
 * Returns the offset after the tagged value at `offset`.
 *
 * @throws RangeError if there is no value at `offset`.
 */
export function skipTaggedValue(tape: TapeBytes, offset: number): number {
  const { bytes, view } = tape;
  const tagByte = bytes[offset] ?? tag.end;
  if (tagByte >= tag.shortText) {
    return offset + 1 + (tagByte & longestShortText);
  }
  switch (tagByte) {
    case tag.null:
    case tag.false:
    case tag.true:
      return offset + 1;
    case tag.int:
      return offset + 5;
    case tag.double:
      return offset + 9;
    case tag.text:
    case tag.wideText:
      return offset + 5 + view.getUint32(offset + 1, true);
    case tag.bytes: {
      const sizeOffset = skipTaggedValue(tape, offset + 1);
      return sizeOffset + 4 + view.getUint32(sizeOffset, true);
    }
    case tag.array:
    case tag.object: {
      let next = offset + 1;
      while (bytes[next] !== tag.end) {
        next = skipTaggedValue(tape, next);
      }
      return next + 1;
    }
    default:
      throw new RangeError(`No value at byte ${offset} of the tape`);
  }
}

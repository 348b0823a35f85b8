import { longestShortText, tag } from "../../model/records/tape-format.ts";
import type { TapeReader } from "./tape-reader.ts";

/** A text that was read from the buffer of recorded runs. */
export interface ReadText {
  readonly text: string;
  /** Offset of the next value in the buffer. */
  readonly end: number;
}

/**
 * Reads the tagged text at `offset`. Its first byte is a tag, which states the encoding.
 *
 * @throws RangeError if there is no text at `offset`.
 */
export function readText({ bytes, view }: TapeReader, offset: number): ReadText {
  const tagByte = bytes[offset] ?? tag.null;
  if (tagByte >= tag.shortText) {
    const end = offset + 1 + (tagByte & longestShortText);
    return { text: bytes.toString("utf8", offset + 1, end), end };
  }
  if (tagByte !== tag.text && tagByte !== tag.wideText) {
    throw new RangeError(`No text at byte ${offset} of the tape`);
  }
  const end = offset + 5 + view.getUint32(offset + 1, true);
  return { text: bytes.toString(tagByte === tag.text ? "utf8" : "utf16le", offset + 5, end), end };
}

import { longestShortText, tag } from "../../model/records/tape-format.ts";
import { countDigits, literal, copyText, formatSecond, viewOf } from "./ascii.ts";
import {
  escapeByte,
  escapeText,
  quote,
  escapeUnit,
  isHighSurrogate,
  isLowSurrogate,
  packedUnits,
  writeSurrogatePair,
} from "./json-escape.ts";

/** Maximum number of JSON bytes for one byte of text: `\u00XX`. */
const escapeGrowth = 6;
/**
 * Bytes of a text that are written in one step, so that a long text reserves little more memory
 * than it needs.
 */
const textStep = 16_384;
/** Maximum number of JSON bytes for one byte of UTF-16: `\uXXXX` for a code unit of two bytes. */
const wideGrowth = 3;
/**
 * Bytes that are converted to base64 in one step: a multiple of 3, so that the results can be
 * concatenated.
 */
const base64Step = 49_152;
/** From this size on, a built-in copies faster than a loop. */
const builtInCopyBytes = 512;
/** Up to this length a loop writes a text faster than a built-in. */
const maxLoopLength = 24;
const comma = 0x2c;
const colon = 0x3a;
const dash = 0x2d;
const dot = 0x2e;
const zero = 0x30;
const upperZ = 0x5a;
const microsPerSecond = 1_000_000;
const microsDigits = 6;

const nullLiteral = literal("null");
const trueLiteral = literal("true");
const falseLiteral = literal("false");

/**
 * Converts tagged values to JSON bytes without creating JavaScript strings from their texts. The
 * output grows as needed: the first `length` bytes of `bytes` are written.
 */
export class JsonWriter {
  bytes: Buffer;
  length = 0;
  /**
   * If set, called for binary data in values. Returns the name of the attachment that it becomes,
   * or `undefined` to write it as base64.
   */
  extractBinary: ((data: Buffer) => string | undefined) | undefined;
  /** A view of `bytes`, for writing several bytes at once. */
  #view: DataView;

  constructor(initial: Buffer) {
    this.bytes = initial;
    this.#view = viewOf(initial);
  }

  /** Appends text that is ASCII and needs no escaping. */
  ascii(text: string): void {
    const { length } = text;
    this.ensureCapacity(length);
    if (length > maxLoopLength) {
      this.length += this.bytes.write(text, this.length, length, "latin1");
      return;
    }
    for (let i = 0; i < length; i++) {
      this.bytes[this.length + i] = text.charCodeAt(i);
    }
    this.length += length;
  }

  /** Appends a constant text. */
  literal(source: DataView): void {
    this.raw(source, 0, source.byteLength);
  }

  /** Appends UTF-8 text without escaping. */
  raw(source: DataView, start: number, end: number): void {
    const size = end - start;
    this.ensureCapacity(size);
    const to = this.length;
    this.length += size;
    if (size >= builtInCopyBytes) {
      const { buffer, byteOffset } = source;
      this.bytes.set(new Uint8Array(buffer, byteOffset + start, size), to);
    } else {
      copyText(source, start, { out: this.#view, to, size });
    }
  }

  /** Appends bytes unchanged. */
  append(bytes: Uint8Array): void {
    this.ensureCapacity(bytes.length);
    this.bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  byte(value: number): void {
    this.ensureCapacity(1);
    this.bytes[this.length++] = value;
  }

  /** Appends a non-negative integer in decimal. */
  digits(value: number): void {
    const count = countDigits(value);
    this.ensureCapacity(count);
    this.length += count;
    this.digitsBefore(this.length, value, count);
  }

  /** Overwrites the `count` bytes before `end` with the last `count` decimal digits of a number. */
  digitsBefore(end: number, value: number, count: number): void {
    const out = this.bytes;
    let remaining = value;
    for (let to = end - 1; to >= end - count; to--) {
      const tenth = Math.floor(remaining / 10);
      out[to] = zero + remaining - tenth * 10;
      remaining = tenth;
    }
  }

  /** Appends microseconds since the Unix epoch as quoted ISO 8601. */
  isoMicros(micros: number): void {
    const second = Math.floor(micros / microsPerSecond);
    this.byte(quote);
    this.literal(formatSecond(second));
    this.byte(dot);
    this.ensureCapacity(microsDigits);
    this.length += microsDigits;
    this.digitsBefore(this.length, micros - second * microsPerSecond, microsDigits);
    this.byte(upperZ);
    this.byte(quote);
  }

  /** Ensures that `count` more bytes can be written. */
  ensureCapacity(count: number): void {
    if (this.length + count > this.bytes.length) {
      this.#grow(count);
    }
  }

  /** Appends the JSON of the tagged value at `at` and returns the offset of the next value. */
  value(source: Buffer, view: DataView, at: number): number {
    const tagByte = source[at] ?? tag.null;
    if (tagByte >= tag.shortText) {
      const end = at + 1 + (tagByte & longestShortText);
      this.#writeShortText(view, at + 1, end);
      return end;
    }
    switch (tagByte) {
      case tag.text: {
        const end = at + 5 + view.getUint32(at + 1, true);
        this.#writeText(view, at + 5, end);
        return end;
      }
      case tag.int:
        this.#writeInt(view.getInt32(at + 1, true));
        return at + 5;
      case tag.double:
        this.ascii(String(view.getFloat64(at + 1, true)));
        return at + 9;
      case tag.true:
        this.literal(trueLiteral);
        return at + 1;
      case tag.false:
        this.literal(falseLiteral);
        return at + 1;
      case tag.object:
        return this.#writeObject(source, view, at + 1);
      case tag.array:
        return this.#writeArray(source, view, at + 1);
      case tag.wideText:
        return this.#writeWideText(view, at);
      case tag.bytes:
        return this.#writeBinary(source, view, at + 1);
      case tag.null:
        this.literal(nullLiteral);
        return at + 1;
      default:
        throw new RangeError(`No value at byte ${at} of the tape`);
    }
  }

  #grow(count: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.ceil((this.length + count) * 1.5) + 1_024);
    this.bytes.copy(larger, 0, 0, this.length);
    this.bytes = larger;
    this.#view = viewOf(larger);
  }

  #writeObject(source: Buffer, view: DataView, start: number): number {
    let at = start;
    this.byte(0x7b);
    while (source[at] !== tag.end) {
      if (at !== start) {
        this.byte(comma);
      }
      at = this.value(source, view, at);
      this.byte(colon);
      at = this.value(source, view, at);
    }
    this.byte(0x7d);
    return at + 1;
  }

  #writeArray(source: Buffer, view: DataView, start: number): number {
    let at = start;
    this.byte(0x5b);
    while (source[at] !== tag.end) {
      if (at !== start) {
        this.byte(comma);
      }
      at = this.value(source, view, at);
    }
    this.byte(0x5d);
    return at + 1;
  }

  #writeInt(value: number): void {
    if (value < 0) {
      this.byte(dash);
    }
    this.digits(Math.abs(value));
  }

  #writeShortText(source: DataView, start: number, end: number): void {
    this.ensureCapacity((end - start) * escapeGrowth + 2);
    this.bytes[this.length] = quote;
    const to = escapeText(source, start, end, this.#view, this.length + 1);
    this.bytes[to] = quote;
    this.length = to + 1;
  }

  /** Writes UTF-8 text in quotes. Only quotes, backslashes and control characters are escaped. */
  #writeText(source: DataView, start: number, end: number): void {
    this.byte(quote);
    for (let at = start; at < end; at += textStep) {
      const stop = Math.min(at + textStep, end);
      this.ensureCapacity((stop - at) * escapeGrowth);
      this.length = escapeText(source, at, stop, this.#view, this.length);
    }
    this.byte(quote);
  }

  /** Writes UTF-16 text. A lone surrogate is escaped, as JSON.stringify does. */
  #writeWideText(view: DataView, at: number): number {
    const start = at + 5;
    const end = start + view.getUint32(at + 1, true);
    this.byte(quote);
    for (let from = start; from < end;) {
      from = this.#writeWideStep(view, from, end);
    }
    this.byte(quote);
    return end;
  }

  /**
   * Writes code units until the reserved capacity of one step is used, without splitting a
   * surrogate pair. Returns where it stopped.
   */
  #writeWideStep(source: DataView, start: number, end: number): number {
    const stop = Math.min(start + textStep, end);
    this.ensureCapacity((stop - start) * wideGrowth + 4);
    const view = this.#view;
    let to = this.length;
    let from = start;
    while (from < stop) {
      const unit = source.getUint16(from, true);
      const packed = packedUnits[unit] ?? 0;
      from += 2;
      if (packed !== 0) {
        view.setInt32(to, packed, true);
        to += packed >> 24;
      } else if (
        isHighSurrogate(unit) &&
        from < end &&
        isLowSurrogate(source.getUint16(from, true))
      ) {
        to = writeSurrogatePair(this.bytes, to, { high: unit, low: source.getUint16(from, true) });
        from += 2;
      } else if (unit < 0x80) {
        to = escapeByte(view, to, unit);
      } else {
        to = escapeUnit(this.bytes, to, unit);
      }
    }
    this.length = to;
    return from;
  }

  /**
   * Writes binary data: its type, and either its bytes in base64 or the name of the attachment that
   * contains them.
   */
  #writeBinary(source: Buffer, view: DataView, start: number): number {
    this.ascii('{"type":');
    const at = this.value(source, view, start);
    const end = at + 4 + view.getUint32(at, true);
    const name = this.extractBinary?.(source.subarray(at + 4, end));
    if (name !== undefined) {
      this.ascii(`,"attachment":"${name}","bytes":${end - at - 4}}`);
      return end;
    }
    this.ascii(',"encoding":"base64","data":"');
    // In steps, because the base64 of all bytes could exceed the maximum length of a string.
    for (let from = at + 4; from < end; from += base64Step) {
      this.ascii(source.toString("base64", from, Math.min(from + base64Step, end)));
    }
    this.ascii('"}');
    return end;
  }
}

import { longestShortText, tag } from "../../model/records/tape-format.ts";
import { countDigits, literal, moveText, secondIso, viewOf } from "./ascii.ts";
import {
  escapeByte,
  escapeText,
  quote,
  escapeUnit,
  isLeading,
  isTrailing,
  packedUnits,
  pairToUtf8,
} from "./json-escape.ts";

/** JSON bytes of one byte of text, at most: `\u00XX`. */
const escapeGrowth = 6;
/** Bytes of a text that are written at once, so that a long text reserves little more than it needs. */
const textStep = 16_384;
/** JSON bytes of one byte of UTF-16, at most: `\uXXXX` of a unit of two. */
const wideGrowth = 3;
/** Bytes that are turned into base64 at once: a multiple of 3, so that the parts join. */
const base64Step = 49_152;
/** From here on a call into the runtime copies faster than a loop. */
const bulkBytes = 512;
/** Up to here a loop writes a text faster than a call into the runtime. */
const loopUnits = 24;
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
 * Turns tagged values into JSON bytes without making JavaScript strings of their texts.
 * The output grows as needed; `bytes` and `length` are what was written.
 */
export class JsonWriter {
  bytes: Buffer;
  length = 0;
  /** Takes binary data out of values; answers its name, or `undefined` where it is to be base64. */
  apart: ((data: Buffer) => string | undefined) | undefined;
  /** `bytes`, by words. */
  #view: DataView;

  constructor(initial: Buffer) {
    this.bytes = initial;
    this.#view = viewOf(initial);
  }

  /** Appends text that is ASCII and needs no escaping. */
  ascii(text: string): void {
    const { length } = text;
    this.ensureCapacity(length);
    if (length > loopUnits) {
      this.length += this.bytes.write(text, this.length, length, "latin1");
      return;
    }
    for (let i = 0; i < length; i++) {
      this.bytes[this.length + i] = text.charCodeAt(i);
    }
    this.length += length;
  }

  /** Appends bytes that were made beforehand. */
  literal(source: DataView): void {
    this.raw(source, 0, source.byteLength);
  }

  /** Appends text as it is, UTF-8. */
  raw(source: DataView, start: number, end: number): void {
    const size = end - start;
    this.ensureCapacity(size);
    const to = this.length;
    this.length += size;
    if (size >= bulkBytes) {
      const { buffer, byteOffset } = source;
      this.bytes.set(new Uint8Array(buffer, byteOffset + start, size), to);
    } else {
      moveText(source, start, { out: this.#view, to, size });
    }
  }

  /** Appends bytes as they are. */
  append(bytes: Uint8Array): void {
    this.ensureCapacity(bytes.length);
    this.bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  byte(value: number): void {
    this.ensureCapacity(1);
    this.bytes[this.length++] = value;
  }

  /** Appends a whole number from 0 in digits, as many as there are. */
  digits(value: number): void {
    const count = countDigits(value);
    this.ensureCapacity(count);
    this.length += count;
    this.digitsBefore(this.length, value, count);
  }

  /** Puts the last `count` digits of a whole number before `end`, over what is there. */
  digitsBefore(end: number, value: number, count: number): void {
    const out = this.bytes;
    let rest = value;
    for (let to = end - 1; to >= end - count; to--) {
      const tenth = Math.floor(rest / 10);
      out[to] = zero + rest - tenth * 10;
      rest = tenth;
    }
  }

  /** Appends microseconds since the Unix epoch as quoted ISO 8601. */
  isoMicros(micros: number): void {
    const second = Math.floor(micros / microsPerSecond);
    this.byte(quote);
    this.literal(secondIso(second));
    this.byte(dot);
    this.ensureCapacity(microsDigits);
    this.length += microsDigits;
    this.digitsBefore(this.length, micros - second * microsPerSecond, microsDigits);
    this.byte(upperZ);
    this.byte(quote);
  }

  /** Makes room for `count` more bytes. */
  ensureCapacity(count: number): void {
    if (this.length + count > this.bytes.length) {
      this.#grow(count);
    }
  }

  /** Appends the JSON of the tagged value at `at`; returns where the next one begins. */
  value(source: Buffer, view: DataView, at: number): number {
    const kind = source[at] ?? tag.null;
    if (kind >= tag.shortText) {
      const end = at + 1 + (kind & longestShortText);
      this.#shortText(view, at + 1, end);
      return end;
    }
    switch (kind) {
      case tag.text: {
        const end = at + 5 + view.getUint32(at + 1, true);
        this.#text(view, at + 5, end);
        return end;
      }
      case tag.int:
        this.#int(view.getInt32(at + 1, true));
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
        return this.#object(source, view, at + 1);
      case tag.array:
        return this.#array(source, view, at + 1);
      case tag.wideText:
        return this.#wideText(view, at);
      case tag.bytes:
        return this.#binary(source, view, at + 1);
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

  #object(source: Buffer, view: DataView, start: number): number {
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

  #array(source: Buffer, view: DataView, start: number): number {
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

  #int(value: number): void {
    if (value < 0) {
      this.byte(dash);
    }
    this.digits(Math.abs(value));
  }

  #shortText(source: DataView, start: number, end: number): void {
    this.ensureCapacity((end - start) * escapeGrowth + 2);
    this.bytes[this.length] = quote;
    const to = escapeText(source, start, end, this.#view, this.length + 1);
    this.bytes[to] = quote;
    this.length = to + 1;
  }

  /** UTF-8 text in quotes; only quotes, backslashes and control characters are escaped. */
  #text(source: DataView, start: number, end: number): void {
    this.byte(quote);
    for (let at = start; at < end; at += textStep) {
      const stop = Math.min(at + textStep, end);
      this.ensureCapacity((stop - at) * escapeGrowth);
      this.length = escapeText(source, at, stop, this.#view, this.length);
    }
    this.byte(quote);
  }

  /** UTF-16 text, in which a surrogate without its partner is escaped, as JSON.stringify does. */
  #wideText(view: DataView, at: number): number {
    const start = at + 5;
    const end = start + view.getUint32(at + 1, true);
    this.byte(quote);
    for (let from = start; from < end;) {
      from = this.#wideStep(view, from, end);
    }
    this.byte(quote);
    return end;
  }

  /** Writes units until a step's room is used up, a pair in one piece; returns where it stopped. */
  #wideStep(source: DataView, start: number, end: number): number {
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
      } else if (isLeading(unit) && from < end && isTrailing(source.getUint16(from, true))) {
        to = pairToUtf8(this.bytes, to, { lead: unit, trail: source.getUint16(from, true) });
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

  /** Binary data: its type, and its bytes in base64, or the name of the attachment that they are. */
  #binary(source: Buffer, view: DataView, start: number): number {
    this.ascii('{"type":');
    const at = this.value(source, view, start);
    const end = at + 4 + view.getUint32(at, true);
    const name = this.apart?.(source.subarray(at + 4, end));
    if (name !== undefined) {
      this.ascii(`,"attachment":"${name}","bytes":${end - at - 4}}`);
      return end;
    }
    this.ascii(',"encoding":"base64","data":"');
    // In steps: of many bytes at once the text could be longer than a string can be.
    for (let from = at + 4; from < end; from += base64Step) {
      this.ascii(source.toString("base64", from, Math.min(from + base64Step, end)));
    }
    this.ascii('"}');
    return end;
  }
}

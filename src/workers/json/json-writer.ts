import { longestShortText, tag } from "../../model/records/tape-format.ts";
import { countDigits, toView, copyText, formatSecond, createView } from "./ascii.ts";
import {
  escapeByte,
  escapeText,
  quote,
  escapeUnit,
  isHighSurrogate,
  isLowSurrogate,
  packedUtf8ByUnit,
  writeSurrogatePair,
} from "./json-escape.ts";

/** Maximum number of JSON bytes for one byte of text: `\u00XX`. */
const maxJsonBytesPerByte = 6;
/**
 * Bytes of a text that are written in one step, so that a long text reserves little more memory
 * than it needs.
 */
const textStepBytes = 16_384;
/** Maximum number of JSON bytes for one byte of UTF-16: `\uXXXX` for a code unit of two bytes. */
const maxJsonBytesPerWideByte = 3;
/**
 * Bytes that are converted to base64 in one step: a multiple of 3, so that the results can be
 * concatenated.
 */
const base64StepBytes = 49_152;
/** From this size in bytes on, a built-in function copies faster than a loop. */
const builtInCopyBytes = 512;
/** Up to this length a loop writes a text faster than a built-in function. */
const maxLoopLength = 24;
const comma = 0x2c;
const colon = 0x3a;
const dash = 0x2d;
const dot = 0x2e;
const zero = 0x30;
const upperZ = 0x5a;
const microsPerSecond = 1_000_000;
const microsDigits = 6;

const nullLiteral = toView("null");
const trueLiteral = toView("true");
const falseLiteral = toView("false");

/**
 * Converts tagged values, each of which begins with a byte that states its type, to JSON bytes without creating
 * JavaScript strings from their texts. The output is the first `length` bytes of `bytes`, which is replaced by a larger
 * buffer as needed.
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
    this.#view = createView(initial);
  }

  /** Appends text that is ASCII and needs no escaping. */
  writeAscii(text: string): void {
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
  writeLiteral(source: DataView): void {
    this.writeRaw(source, 0, source.byteLength);
  }

  /** Appends UTF-8 text without escaping. */
  writeRaw(source: DataView, start: number, end: number): void {
    const size = end - start;
    this.ensureCapacity(size);
    const targetOffset = this.length;
    this.length += size;
    if (size >= builtInCopyBytes) {
      const { buffer, byteOffset } = source;
      this.bytes.set(new Uint8Array(buffer, byteOffset + start, size), targetOffset);
    } else {
      copyText(source, start, { out: this.#view, to: targetOffset, size });
    }
  }

  /** Appends bytes unchanged. */
  writeBytes(bytes: Uint8Array): void {
    this.ensureCapacity(bytes.length);
    this.bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  writeByte(value: number): void {
    this.ensureCapacity(1);
    this.bytes[this.length++] = value;
  }

  /** Appends a non-negative integer in decimal. */
  writeDigits(value: number): void {
    const count = countDigits(value);
    this.ensureCapacity(count);
    this.length += count;
    this.overwriteDigits(this.length, value, count);
  }

  /** Overwrites the `count` bytes before `end` with the last `count` decimal digits of a number. */
  overwriteDigits(end: number, value: number, count: number): void {
    const out = this.bytes;
    let remaining = value;
    for (let targetOffset = end - 1; targetOffset >= end - count; targetOffset--) {
      const quotient = Math.floor(remaining / 10);
      out[targetOffset] = zero + remaining - quotient * 10;
      remaining = quotient;
    }
  }

  /** Appends microseconds since the Unix epoch as quoted ISO 8601. */
  writeIsoMicros(micros: number): void {
    const second = Math.floor(micros / microsPerSecond);
    this.writeByte(quote);
    this.writeLiteral(formatSecond(second));
    this.writeByte(dot);
    this.ensureCapacity(microsDigits);
    this.length += microsDigits;
    this.overwriteDigits(this.length, micros - second * microsPerSecond, microsDigits);
    this.writeByte(upperZ);
    this.writeByte(quote);
  }

  /** Ensures that `count` more bytes can be written. */
  ensureCapacity(count: number): void {
    if (this.length + count > this.bytes.length) {
      this.#enlargeBuffer(count);
    }
  }

  /** Appends the JSON of the tagged value at `offset` and returns the offset of the next value. */
  writeValue(source: Buffer, view: DataView, offset: number): number {
    const tagByte = source[offset] ?? tag.null;
    if (tagByte >= tag.shortText) {
      const end = offset + 1 + (tagByte & longestShortText);
      this.#writeShortText(view, offset + 1, end);
      return end;
    }
    switch (tagByte) {
      case tag.text: {
        const end = offset + 5 + view.getUint32(offset + 1, true);
        this.#writeText(view, offset + 5, end);
        return end;
      }
      case tag.int:
        this.#writeInt(view.getInt32(offset + 1, true));
        return offset + 5;
      case tag.double:
        this.writeAscii(String(view.getFloat64(offset + 1, true)));
        return offset + 9;
      case tag.true:
        this.writeLiteral(trueLiteral);
        return offset + 1;
      case tag.false:
        this.writeLiteral(falseLiteral);
        return offset + 1;
      case tag.object:
        return this.#writeObject(source, view, offset + 1);
      case tag.array:
        return this.#writeArray(source, view, offset + 1);
      case tag.wideText:
        return this.#writeWideText(view, offset);
      case tag.bytes:
        return this.#writeBinary(source, view, offset + 1);
      case tag.null:
        this.writeLiteral(nullLiteral);
        return offset + 1;
      default:
        throw new RangeError(`No value at byte ${offset} of the tape`);
    }
  }

  #enlargeBuffer(additionalBytes: number): void {
    const largerBuffer = Buffer.allocUnsafeSlow(
      Math.ceil((this.length + additionalBytes) * 1.5) + 1_024,
    );
    this.bytes.copy(largerBuffer, 0, 0, this.length);
    this.bytes = largerBuffer;
    this.#view = createView(largerBuffer);
  }

  #writeObject(source: Buffer, view: DataView, start: number): number {
    let offset = start;
    this.writeByte(0x7b);
    while (source[offset] !== tag.end) {
      if (offset !== start) {
        this.writeByte(comma);
      }
      offset = this.writeValue(source, view, offset);
      this.writeByte(colon);
      offset = this.writeValue(source, view, offset);
    }
    this.writeByte(0x7d);
    return offset + 1;
  }

  #writeArray(source: Buffer, view: DataView, start: number): number {
    let offset = start;
    this.writeByte(0x5b);
    while (source[offset] !== tag.end) {
      if (offset !== start) {
        this.writeByte(comma);
      }
      offset = this.writeValue(source, view, offset);
    }
    this.writeByte(0x5d);
    return offset + 1;
  }

  #writeInt(value: number): void {
    if (value < 0) {
      this.writeByte(dash);
    }
    this.writeDigits(Math.abs(value));
  }

  #writeShortText(source: DataView, start: number, end: number): void {
    this.ensureCapacity((end - start) * maxJsonBytesPerByte + 2);
    this.bytes[this.length] = quote;
    const textEnd = escapeText(source, start, end, this.#view, this.length + 1);
    this.bytes[textEnd] = quote;
    this.length = textEnd + 1;
  }

  /** Writes UTF-8 text in quotes. Only quotes, backslashes and control characters are escaped. */
  #writeText(source: DataView, start: number, end: number): void {
    this.writeByte(quote);
    for (let offset = start; offset < end; offset += textStepBytes) {
      const stepEnd = Math.min(offset + textStepBytes, end);
      this.ensureCapacity((stepEnd - offset) * maxJsonBytesPerByte);
      this.length = escapeText(source, offset, stepEnd, this.#view, this.length);
    }
    this.writeByte(quote);
  }

  /** Writes UTF-16 text. A lone surrogate is escaped, as JSON.stringify does. */
  #writeWideText(view: DataView, offset: number): number {
    const start = offset + 5;
    const end = start + view.getUint32(offset + 1, true);
    this.writeByte(quote);
    for (let stepStart = start; stepStart < end;) {
      stepStart = this.#writeWideStep(view, stepStart, end);
    }
    this.writeByte(quote);
    return end;
  }

  /**
   * Writes the code units of one step, without splitting a surrogate pair at its end. Returns the offset of the next
   * code unit.
   */
  #writeWideStep(source: DataView, start: number, end: number): number {
    const stepEnd = Math.min(start + textStepBytes, end);
    this.ensureCapacity((stepEnd - start) * maxJsonBytesPerWideByte + 4);
    const view = this.#view;
    let targetOffset = this.length;
    let sourceOffset = start;
    while (sourceOffset < stepEnd) {
      const unit = source.getUint16(sourceOffset, true);
      const packed = packedUtf8ByUnit[unit] ?? 0;
      sourceOffset += 2;
      if (packed !== 0) {
        view.setInt32(targetOffset, packed, true);
        targetOffset += packed >> 24;
      } else if (
        isHighSurrogate(unit) &&
        sourceOffset < end &&
        isLowSurrogate(source.getUint16(sourceOffset, true))
      ) {
        targetOffset = writeSurrogatePair(this.bytes, targetOffset, {
          high: unit,
          low: source.getUint16(sourceOffset, true),
        });
        sourceOffset += 2;
      } else if (unit < 0x80) {
        targetOffset = escapeByte(view, targetOffset, unit);
      } else {
        targetOffset = escapeUnit(this.bytes, targetOffset, unit);
      }
    }
    this.length = targetOffset;
    return sourceOffset;
  }

  /**
   * Writes binary data: its type, and either its bytes in base64 or the name of the attachment that
   * contains them.
   */
  #writeBinary(source: Buffer, view: DataView, start: number): number {
    this.writeAscii('{"type":');
    const offset = this.writeValue(source, view, start);
    const end = offset + 4 + view.getUint32(offset, true);
    const name = this.extractBinary?.(source.subarray(offset + 4, end));
    if (name !== undefined) {
      this.writeAscii(`,"attachment":"${name}","bytes":${end - offset - 4}}`);
      return end;
    }
    this.writeAscii(',"encoding":"base64","data":"');
    // The data is converted in steps, because the base64 of all bytes could exceed the maximum length of a string.
    for (let stepStart = offset + 4; stepStart < end; stepStart += base64StepBytes) {
      this.writeAscii(
        source.toString("base64", stepStart, Math.min(stepStart + base64StepBytes, end)),
      );
    }
    this.writeAscii('"}');
    return end;
  }
}

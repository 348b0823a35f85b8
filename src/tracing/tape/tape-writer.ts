import { writeLatin1, writeUtf16, writeUtf8 } from "../../model/buffer-text.ts";
import { fieldHeadBytes, tag } from "../../model/records/tape-format.ts";
import { cutText, isProbablyWide } from "./cut-text.ts";
import { FieldFull } from "./capacity-exceeded.ts";
import type { CachedString } from "./string-cache.ts";
import { TapeCursor } from "./tape-cursor.ts";
import { measureOrder, writeOrder } from "./order-bytes.ts";
import type { TracePosition } from "./order-bytes.ts";
import {
  cachedTextCapacity,
  maxLoopUnits,
  maxMarkerBytes,
  unlimited,
  shortTextUnits,
  textHeadBytes,
  utf8BytesPerUnit,
} from "./write-sizes.ts";

/**
 * Appends records to a tape, which is a byte buffer. A record consists of a head of fixed size and of fields; the value
 * of a field begins with a tag that states its type. A text that exceeds the limit of its field is truncated, and
 * binary data that exceeds it is replaced by a marker. For any other value that exceeds it, the method throws
 * {@link FieldFull}.
 */
export class TapeWriter extends TapeCursor {
  /** Writes a complete field: an ASCII text without a tag. */
  writeAsciiField(code: number, text: string): void {
    this.beginSizedField(code, text.length);
    this.offset += writeLatin1(this.bytes, text, this.offset);
  }

  /** Writes a complete field: a run's dotted order without a tag. */
  writeOrderField(code: number, position: TracePosition): void {
    const length = measureOrder(position);
    this.beginSizedField(code, length);
    writeOrder(this.tape, this.offset, position);
    this.offset += length;
  }

  /** Writes a complete field: a 64-bit float without a tag. */
  writeDoubleField(code: number, value: number): void {
    this.beginSizedField(code, 8);
    this.view.setFloat64(this.offset, value, true);
    this.offset += 8;
  }

  /**
   * Writes a complete field with a cached text. Returns false, without writing, if the text's bytes are not cached or
   * there might not be enough free bytes.
   */
  writeCachedField(code: number, text: CachedString): boolean {
    if (text.size === 0 || this.offset + fieldHeadBytes + cachedTextCapacity > this.limit) {
      return false;
    }
    this.beginSizedField(code, text.size);
    return this.writeCached(text);
  }

  writeTag(value: number): void {
    if (this.offset >= this.limit) {
      this.handleLimit(1);
    }
    this.bytes[this.offset++] = value;
  }

  /** Closes an array or an object. The closing tag may exceed the field's limit. */
  writeEnd(): void {
    if (this.offset >= this.tape.capacity) {
      this.moveRecord(1);
    }
    this.bytes[this.offset++] = tag.end;
  }

  /** Writes an object's key. A key that does not fit into the field is never cut: the field ends before it. */
  writeKey(text: string): void {
    const maxBytes = textHeadBytes + utf8BytesPerUnit * (text.length + maxLoopUnits);
    if (this.offset + maxBytes > this.limit && this.isBeyondField(maxBytes)) {
      this.endFullField(true);
    }
    this.writeText(text);
  }

  /**
   * Copies a text from the cache. Returns false, without writing, if its bytes are not cached or there might not be
   * enough free bytes.
   */
  writeCached(text: CachedString): boolean {
    const { size } = text;
    const offset = this.offset;
    if (size === 0 || offset + cachedTextCapacity > this.limit) {
      return false;
    }
    const view = this.view;
    // These writes may change bytes after the text's end. Later writes overwrite them, or they stay in the unused part
    // of the tape.
    view.setFloat64(offset, text.firstEightBytes, true);
    if (size > 8) {
      view.setFloat64(offset + 8, text.lastEightBytes, true);
    }
    this.offset = offset + size;
    return true;
  }

  writeNumber(value: number): void {
    this.ensureCapacity(9);
    if ((value | 0) === value) {
      this.bytes[this.offset] = tag.int;
      this.view.setInt32(this.offset + 1, value, true);
      this.offset += 5;
    } else {
      this.bytes[this.offset] = tag.double;
      this.view.setFloat64(this.offset + 1, value, true);
      this.offset += 9;
    }
  }

  /**
   * Writes a tagged text as UTF-8. It uses UTF-16 for long texts that are not Latin-1, because that is a plain copy,
   * and for texts that are not well-formed Unicode, because UTF-8 can't represent them.
   */
  writeText(text: string): void {
    const length = text.length;
    if (length <= maxLoopUnits) {
      this.ensureCapacity(textHeadBytes + utf8BytesPerUnit * maxLoopUnits);
      const bytes = this.bytes;
      const offset = this.offset + 1;
      let i = 0;
      for (; i < length; i++) {
        const unit = text.charCodeAt(i);
        if (unit > 0x7f) {
          break;
        }
        bytes[offset + i] = unit;
      }
      if (i === length) {
        bytes[offset - 1] = tag.shortText | length;
        this.offset = offset + length;
        return;
      }
    } else if (isProbablyWide(text)) {
      this.#writeWideText(text);
      return;
    } else if (this.offset + textHeadBytes + utf8BytesPerUnit * length > this.limit) {
      // A UTF-16 unit takes at least one byte. So a text with more units than the field has bytes left need not be
      // measured.
      const size = textHeadBytes + (this.isBeyondField(length) ? length : Buffer.byteLength(text));
      if (this.isBeyondField(size)) {
        this.#writeCutText(text);
        return;
      }
      this.ensureCapacity(size);
    }
    const headBytes = length <= shortTextUnits ? 1 : textHeadBytes;
    const written = writeUtf8(this.bytes, text, this.offset + headBytes);
    if (written !== length && !text.isWellFormed()) {
      this.#writeWideText(text);
    } else {
      this.bytes[this.offset] = headBytes === 1 ? tag.shortText | written : tag.text;
      if (headBytes > 1) {
        this.view.setUint32(this.offset + 1, written, true);
      }
      this.offset += headBytes + written;
    }
  }

  /** Writes binary data with the name of its type. Data that does not fit into the field is replaced by a marker. */
  writeBinary(typeName: string, data: Uint8Array): void {
    if (this.isBeyondField(maxMarkerBytes + Math.ceil(data.length / 3) * 4)) {
      this.isFieldCut = true;
      this.writeText(`[too large: ${typeName} of ${data.length} bytes]`);
      return;
    }
    this.writeTag(tag.bytes);
    this.writeText(typeName);
    this.ensureCapacity(4 + data.length);
    this.view.setUint32(this.offset, data.length, true);
    this.bytes.set(data, this.offset + 4);
    this.offset += 4 + data.length;
  }

  /** Writes a body of `size` bytes as binary data without a type name. The caller has limited its size. */
  writeBody(body: string | readonly Uint8Array[], size: number): void {
    this.writeTag(tag.bytes);
    this.writeText("");
    this.ensureCapacity(4 + size);
    this.view.setUint32(this.offset, size, true);
    this.offset += 4;
    if (typeof body === "string") {
      this.offset += writeUtf8(this.bytes, body, this.offset);
      return;
    }
    for (const part of body) {
      this.bytes.set(part, this.offset);
      this.offset += part.length;
    }
  }

  /** Limits the rest of the current field, from the current position on, to the size of an ordinary field. */
  limitField(): void {
    this.setFieldEnd(this.position() + this.fieldBytes);
  }

  #writeWideText(text: string): void {
    const size = textHeadBytes + 2 * text.length;
    if (this.isBeyondField(size)) {
      this.#writeCutText(text);
      return;
    }
    this.ensureCapacity(size);
    this.bytes[this.offset] = tag.wideText;
    this.view.setUint32(this.offset + 1, 2 * text.length, true);
    this.offset += textHeadBytes + writeUtf16(this.bytes, text, this.offset + textHeadBytes);
  }

  /**
   * Writes the part of a text that fits, and a marker with the number of missing characters. Leaves capacity for a few
   * small values.
   */
  #writeCutText(text: string): void {
    this.ensureCapacity(textHeadBytes + maxMarkerBytes);
    const fieldBytesLeft = this.countFieldBytesLeft() - textHeadBytes - maxMarkerBytes;
    const reservedBytes = Math.min(65_536, Math.floor(this.fieldBytes / 8));
    this.isFieldCut = true;
    this.writeText(cutText(text, Math.max(0, fieldBytesLeft - reservedBytes)));
  }

  /**
   * Ends a full field. It lifts the field's limit, so that the caller can write markers and close arrays and objects.
   */
  protected endFullField(atKey: boolean): never {
    this.isFieldCut = true;
    this.setFieldEnd(unlimited);
    if (!atKey) {
      this.writeText("[truncated]");
    }
    throw new FieldFull(atKey);
  }
}

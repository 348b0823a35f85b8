import { writeLatin1, writeUtf16, writeUtf8 } from "../../model/buffer-text.ts";
import { fieldHead, tag } from "../../model/records/tape-format.ts";
import { cutText, looksWide } from "./cut-text.ts";
import { FieldFull } from "./capacity-exceeded.ts";
import type { CachedString } from "./string-cache.ts";
import { TapeCursor } from "./tape-cursor.ts";
import { orderLength, writeOrder } from "./order-bytes.ts";
import type { TracePosition } from "./order-bytes.ts";
import {
  cachedBytes,
  loopLimit,
  markerBytes,
  noEnd,
  shortUnits,
  textHead,
  utf8Growth,
} from "./write-sizes.ts";

/**
 * Appends records to a tape: heads, fields, and the primitives of tagged values. A field has a limit: a text
 * beyond it is cut, other values throw {@link FieldFull}.
 */
export class TapeWriter extends TapeCursor {
  /** A whole field of text without a tag, known to be ASCII. */
  asciiField(code: number, text: string): void {
    this.fieldOf(code, text.length);
    this.at += writeLatin1(this.bytes, text, this.at);
  }

  /** A whole field: a run's dotted order, without a tag. */
  orderField(code: number, position: TracePosition): void {
    const length = orderLength(position);
    this.fieldOf(code, length);
    writeOrder(this.tape, this.at, position);
    this.at += length;
  }

  /** A whole field of eight bytes, without a tag. */
  doubleField(code: number, value: number): void {
    this.fieldOf(code, 8);
    this.view.setFloat64(this.at, value, true);
    this.at += 8;
  }

  /** A whole field of one text, as {@link TapeWriter.cached}. */
  cachedField(code: number, text: CachedString): boolean {
    if (text.size === 0 || this.at + fieldHead + cachedBytes > this.limit) {
      return false;
    }
    this.fieldOf(code, text.size);
    return this.cached(text);
  }

  tag(value: number): void {
    if (this.at >= this.limit) {
      this.spill(1);
    }
    this.bytes[this.at++] = value;
  }

  /** Closes an array or an object, also in a field that is full. */
  end(): void {
    if (this.at >= this.tape.capacity) {
      this.move(1);
    }
    this.bytes[this.at++] = tag.end;
  }

  /** An object's key: whole, or not at all. */
  key(text: string): void {
    const most = textHead + utf8Growth * (text.length + loopLimit);
    if (this.at + most > this.limit && this.isBeyondField(most)) {
      this.stop(true);
    }
    this.text(text);
  }

  /** A text whose bytes are kept; false where there may be no room for it, and nothing was written. */
  cached(text: CachedString): boolean {
    const { size } = text;
    const at = this.at;
    if (size === 0 || at + cachedBytes > this.limit) {
      return false;
    }
    const view = this.view;
    // What these moves write beyond the text is written over by what follows, or lies behind the tape's end.
    view.setFloat64(at, text.bytes0, true);
    if (size > 8) {
      view.setFloat64(at + 8, text.bytes8, true);
    }
    this.at = at + size;
    return true;
  }

  number(value: number): void {
    this.ensureCapacity(9);
    if ((value | 0) === value) {
      this.bytes[this.at] = tag.int;
      this.view.setInt32(this.at + 1, value, true);
      this.at += 5;
    } else {
      this.bytes[this.at] = tag.double;
      this.view.setFloat64(this.at + 1, value, true);
      this.at += 9;
    }
  }

  /**
   * A tagged text: UTF-8, or UTF-16 where that is a mere copy (long and not Latin-1) or the only way to
   * keep all of it (not well-formed Unicode).
   */
  text(text: string): void {
    const length = text.length;
    if (length <= loopLimit) {
      this.ensureCapacity(textHead + utf8Growth * loopLimit);
      const bytes = this.bytes;
      const at = this.at + 1;
      let i = 0;
      for (; i < length; i++) {
        const unit = text.charCodeAt(i);
        if (unit > 0x7f) {
          break;
        }
        bytes[at + i] = unit;
      }
      if (i === length) {
        bytes[at - 1] = tag.shortText | length;
        this.at = at + length;
        return;
      }
    } else if (looksWide(text)) {
      this.#wideText(text);
      return;
    } else if (this.at + textHead + utf8Growth * length > this.limit) {
      // A unit is a byte at least: those of a text that is too long anyway are not counted.
      const size = textHead + (this.isBeyondField(length) ? length : Buffer.byteLength(text));
      if (this.isBeyondField(size)) {
        this.#cutText(text);
        return;
      }
      this.ensureCapacity(size);
    }
    const head = length <= shortUnits ? 1 : textHead;
    const written = writeUtf8(this.bytes, text, this.at + head);
    if (written !== length && !text.isWellFormed()) {
      this.#wideText(text);
    } else {
      this.bytes[this.at] = head === 1 ? tag.shortText | written : tag.text;
      if (head > 1) {
        this.view.setUint32(this.at + 1, written, true);
      }
      this.at += head + written;
    }
  }

  /** Binary data with the name of its type: all of it, or a marker. */
  binary(typeName: string, data: Uint8Array): void {
    if (this.isBeyondField(markerBytes + Math.ceil(data.length / 3) * 4)) {
      this.fieldCut = true;
      this.text(`[too large: ${typeName} of ${data.length} bytes]`);
      return;
    }
    this.tag(tag.bytes);
    this.text(typeName);
    this.ensureCapacity(4 + data.length);
    this.view.setUint32(this.at, data.length, true);
    this.bytes.set(data, this.at + 4);
    this.at += 4 + data.length;
  }

  #wideText(text: string): void {
    const size = textHead + 2 * text.length;
    if (this.isBeyondField(size)) {
      this.#cutText(text);
      return;
    }
    this.ensureCapacity(size);
    this.bytes[this.at] = tag.wideText;
    this.view.setUint32(this.at + 1, 2 * text.length, true);
    this.at += textHead + writeUtf16(this.bytes, text, this.at + textHead);
  }

  /** Writes what fits of a text, and how much is left out; leaves room for a few small values. */
  #cutText(text: string): void {
    this.ensureCapacity(textHead + markerBytes);
    const left = this.fieldCapacity() - textHead - markerBytes;
    const spared = Math.min(65_536, Math.floor(this.fieldBytes / 8));
    this.fieldCut = true;
    this.text(cutText(text, Math.max(0, left - spared)));
  }

  /** The field is full: from here on there is room for markers and ends, which the caller keeps few. */
  protected stop(atKey: boolean): never {
    this.fieldCut = true;
    this.endFieldAt(noEnd);
    if (!atKey) {
      this.text("[truncated]");
    }
    throw new FieldFull(atKey);
  }
}

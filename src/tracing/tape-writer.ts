import { fieldHead, headOffset, operationCode, recordHead, tag } from "../model/tape-format.ts";
import type { Operation } from "../model/run.ts";
import { cutText, looksForeign } from "./cut-text.ts";
import { FieldFull } from "./no-room.ts";
import type { NextTape, Tape } from "./tape.ts";
import { orderLength, writeOrder } from "./trace.ts";
import type { Place } from "./trace.ts";
import { loopLimit, markerBytes, noEnd, shortUnits, textHead, utf8Growth } from "./write-sizes.ts";

/**
 * Appends records to a tape: heads, fields, and the primitives of tagged values.
 * A record that does not fit moves, as far as it is written, to the next tape; offsets that a caller
 * keeps are therefore relative to the record ({@link mark}).
 *
 * A field has a limit: a text beyond it is cut, other values throw {@link FieldFull}. The limit and the
 * tape's end are one bound (`#limit`), so that the limit costs nothing where it is not reached.
 */
export class TapeWriter {
  #tape: Tape;
  #bytes: Buffer;
  #view: DataView;
  #limit: number;
  #start = 0;
  #at = 0;
  readonly #nextTape: NextTape;
  readonly #fieldBytes: number;
  /** Where the field has to end, relative to the record. */
  #fieldEnd = noEnd;
  #fieldCut = false;
  /** How many fields of the present record were cut. */
  cutFields = 0;

  /** `fieldBytes`: the limit of a field's content, markers excepted. */
  constructor(tape: Tape, nextTape: NextTape, fieldBytes: number = noEnd) {
    this.#tape = tape;
    this.#bytes = tape.bytes;
    this.#view = tape.view;
    this.#limit = tape.capacity;
    this.#at = tape.used;
    this.#nextTape = nextTape;
    this.#fieldBytes = fieldBytes;
  }

  get tape(): Tape {
    return this.#tape;
  }

  /** Goes on at the end of `tape`. */
  use(tape: Tape): void {
    this.#tape = tape;
    this.#bytes = tape.bytes;
    this.#view = tape.view;
    this.#limit = tape.capacity;
    this.#start = tape.used;
    this.#at = tape.used;
    this.#fieldEnd = noEnd;
  }

  beginRecord(operation: Operation): void {
    this.use(this.#tape);
    this.cutFields = 0;
    this.#room(recordHead);
    // The outcome behind it is `pending`, which is 0, and so is the rest of the head.
    this.#view.setUint32(this.#at + headOffset.operation, operationCode[operation], true);
    this.#at += recordHead;
  }

  /** Makes the record part of the tape; returns its bytes. */
  endRecord(): number {
    const length = this.#at - this.#start;
    this.#view.setUint32(this.#start + headOffset.length, length, true);
    this.#tape.used = this.#at;
    this.#tape.records += 1;
    return length;
  }

  /** Forgets what was written since {@link beginRecord}. */
  abandonRecord(): void {
    this.use(this.#tape);
  }

  /** Opens a field; returns the mark that {@link endField} takes. */
  beginField(code: number, limit = this.#fieldBytes): number {
    this.#room(fieldHead);
    this.#bytes[this.#at] = code;
    const mark = this.#at - this.#start;
    this.#at += fieldHead;
    this.#fieldCut = false;
    this.#endFieldAt(mark + fieldHead + limit);
    return mark;
  }

  endField(mark: number): void {
    this.#view.setUint32(this.#start + mark + 1, this.mark() - mark - fieldHead, true);
    this.#endFieldAt(noEnd);
    this.cutFields += this.#fieldCut ? 1 : 0;
  }

  /** Where the next byte goes, relative to the record. */
  mark(): number {
    return this.#at - this.#start;
  }

  /** Has room for the `bytes` that are to come, and are all of the record's rest. */
  reserve(bytes: number): void {
    if (this.#at + bytes > this.#tape.capacity) {
      this.#move(bytes, true);
    }
  }

  /** Takes back all that was written since `mark`. */
  rewind(mark: number): void {
    this.#at = this.#start + mark;
  }

  /** Text without a tag: a field's whole content. Only for text known to be ASCII. */
  asciiRaw(text: string): void {
    this.#room(text.length);
    this.#at += this.#bytes.write(text, this.#at, text.length, "latin1");
  }

  /** A run's dotted order, without a tag. */
  orderRaw(place: Place): void {
    const length = orderLength(place);
    this.#room(length);
    writeOrder(this.#bytes, this.#at, place);
    this.#at += length;
  }

  doubleRaw(value: number): void {
    this.#room(8);
    this.#view.setFloat64(this.#at, value, true);
    this.#at += 8;
  }

  tag(value: number): void {
    if (this.#at >= this.#limit) {
      this.#spill(1);
    }
    this.#bytes[this.#at++] = value;
  }

  /** Closes an array or an object, also in a field that is full. */
  end(): void {
    if (this.#at >= this.#tape.capacity) {
      this.#move(1);
    }
    this.#bytes[this.#at++] = tag.end;
  }

  /** An object's key: whole, or not at all. */
  key(text: string): void {
    const most = textHead + utf8Growth * (text.length + loopLimit);
    if (this.#at + most > this.#limit && this.#isBeyondField(most)) {
      this.#stop(true);
    }
    this.text(text);
  }

  number(value: number): void {
    this.#room(9);
    if ((value | 0) === value) {
      this.#bytes[this.#at] = tag.int;
      this.#view.setInt32(this.#at + 1, value, true);
      this.#at += 5;
    } else {
      this.#bytes[this.#at] = tag.double;
      this.#view.setFloat64(this.#at + 1, value, true);
      this.#at += 9;
    }
  }

  /**
   * A tagged text: UTF-8, or UTF-16 where that is a mere copy (long and not ASCII) or the only way to
   * keep all of it (not well-formed Unicode).
   */
  text(text: string): void {
    const length = text.length;
    if (length <= loopLimit) {
      this.#room(textHead + utf8Growth * loopLimit);
      const bytes = this.#bytes;
      const at = this.#at + 1;
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
        this.#at = at + length;
        return;
      }
    } else if (looksForeign(text)) {
      this.#wideText(text);
      return;
    } else if (this.#at + textHead + utf8Growth * length > this.#limit) {
      // A unit is a byte at least: those of a text that is too long anyway are not counted.
      const size = textHead + (this.#isBeyondField(length) ? length : Buffer.byteLength(text));
      if (this.#isBeyondField(size)) {
        this.#cutText(text);
        return;
      }
      this.#room(size);
    }
    const head = length <= shortUnits ? 1 : textHead;
    const written = this.#bytes.write(text, this.#at + head);
    if (written !== length && !text.isWellFormed()) {
      this.#wideText(text);
    } else {
      this.#bytes[this.#at] = head === 1 ? tag.shortText | written : tag.text;
      if (head > 1) {
        this.#view.setUint32(this.#at + 1, written, true);
      }
      this.#at += head + written;
    }
  }

  /** Binary data with the name of its type: all of it, or a marker. */
  binary(typeName: string, data: Uint8Array): void {
    if (this.#isBeyondField(markerBytes + Math.ceil(data.length / 3) * 4)) {
      this.#fieldCut = true;
      this.text(`[too large: ${typeName} of ${data.length} bytes]`);
      return;
    }
    this.tag(tag.bytes);
    this.text(typeName);
    this.#room(4 + data.length);
    this.#view.setUint32(this.#at, data.length, true);
    this.#bytes.set(data, this.#at + 4);
    this.#at += 4 + data.length;
  }

  #wideText(text: string): void {
    const size = textHead + 2 * text.length;
    if (this.#isBeyondField(size)) {
      this.#cutText(text);
      return;
    }
    this.#room(size);
    this.#bytes[this.#at] = tag.wideText;
    this.#view.setUint32(this.#at + 1, 2 * text.length, true);
    this.#at += textHead + this.#bytes.write(text, this.#at + textHead, 2 * text.length, "utf16le");
  }

  #room(bytes: number): void {
    if (this.#at + bytes > this.#limit) {
      this.#spill(bytes);
    }
  }

  /** Writes what fits of a text, and how much is left out; leaves room for a few small values. */
  #cutText(text: string): void {
    this.#room(textHead + markerBytes);
    const left = this.#start + this.#fieldEnd - this.#at - textHead - markerBytes;
    const spared = Math.min(65_536, Math.floor(this.#fieldBytes / 8));
    this.#fieldCut = true;
    this.text(cutText(text, Math.max(0, left - spared)));
  }

  #isBeyondField(bytes: number): boolean {
    return this.#at + bytes > this.#start + this.#fieldEnd;
  }

  #endFieldAt(end: number): void {
    this.#fieldEnd = end;
    this.#limit = Math.min(this.#tape.capacity, this.#start + end);
  }

  /** The bound is reached: the field's, which ends it with a marker, or the tape's. */
  #spill(bytes: number): void {
    if (this.#isBeyondField(bytes)) {
      this.#stop(false);
    }
    this.#move(bytes);
  }

  /** The field is full: from here on there is room for markers and ends, which the caller keeps few. */
  #stop(atKey: boolean): never {
    this.#fieldCut = true;
    this.#endFieldAt(noEnd);
    if (!atKey) {
      this.text("[truncated]");
    }
    throw new FieldFull(atKey);
  }

  /** Moves the unfinished record to a tape with `bytes` more room. */
  #move(bytes: number, isRest = false): void {
    const begun = this.#bytes.subarray(this.#start, this.#at);
    const next = this.#nextTape(begun.length + bytes, isRest);
    next.bytes.set(begun, next.used);
    const fieldEnd = this.#fieldEnd;
    this.use(next);
    this.#at += begun.length;
    this.#endFieldAt(fieldEnd);
  }
}

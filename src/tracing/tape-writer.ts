import {
  fieldHead,
  headOffset,
  longestShortText,
  operationCode,
  outcomeCode,
  recordHead,
  tag,
} from "../model/tape-format.ts";
import type { Operation } from "../model/run.ts";
import type { Tape } from "./tape.ts";

/** Thrown through a record that finds no room; the record is dropped and counted. */
export class NoRoom extends Error {}

/** Gives a tape with room for `atLeast` bytes in place of the present one; throws {@link NoRoom}. */
export type NextTape = (atLeast: number) => Tape;

/** Up to here a loop over the characters beats a call into the runtime. */
const loopLimit = 16;
/** Texts longer than this are probed for what is not ASCII. */
const probedFrom = 64;
const probes = 16;
/** UTF-8 bytes of one UTF-16 unit, at most. */
const utf8Growth = 3;
const textHead = 5;

/**
 * Appends records to a tape: heads, fields, and the primitives of tagged values.
 * A record that does not fit moves, as far as it is written, to the next tape; offsets that a caller
 * keeps are therefore relative to the record ({@link mark}).
 */
export class TapeWriter {
  #tape: Tape;
  #bytes: Buffer;
  #view: DataView;
  #limit: number;
  #start = 0;
  #at = 0;
  readonly #nextTape: NextTape;

  constructor(tape: Tape, nextTape: NextTape) {
    this.#tape = tape;
    this.#bytes = tape.bytes;
    this.#view = tape.view;
    this.#limit = tape.capacity;
    this.#at = tape.used;
    this.#nextTape = nextTape;
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
  }

  beginRecord(operation: Operation): void {
    this.#start = this.#tape.used;
    this.#at = this.#start;
    this.#room(recordHead);
    this.#bytes[this.#at + headOffset.operation] = operationCode[operation];
    this.#bytes[this.#at + headOffset.outcome] = outcomeCode.pending;
    this.#bytes[this.#at + 6] = 0;
    this.#bytes[this.#at + 7] = 0;
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
    this.#at = this.#tape.used;
    this.#start = this.#at;
  }

  /** Opens a field; returns the mark that {@link endField} takes. */
  beginField(code: number): number {
    this.#room(fieldHead);
    this.#bytes[this.#at] = code;
    const mark = this.#at - this.#start;
    this.#at += fieldHead;
    return mark;
  }

  endField(mark: number): void {
    const at = this.#start + mark;
    this.#view.setUint32(at + 1, this.#at - at - fieldHead, true);
  }

  /** Where the next byte goes, relative to the record. */
  mark(): number {
    return this.#at - this.#start;
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
    } else if (length > probedFrom && looksForeign(text)) {
      this.#wideText(text);
      return;
    } else if (this.#at + textHead + utf8Growth * length > this.#limit) {
      this.#room(textHead + Buffer.byteLength(text));
    }
    const head = length * utf8Growth <= longestShortText ? 1 : textHead;
    const written = this.#bytes.write(text, this.#at + head);
    if (written !== length && !text.isWellFormed()) {
      this.#wideText(text);
    } else {
      this.#textHead(head, written);
      this.#at += head + written;
    }
  }

  /** Binary data with the name of its type. */
  binary(typeName: string, data: Uint8Array): void {
    this.tag(tag.bytes);
    this.text(typeName);
    this.#room(4 + data.length);
    this.#view.setUint32(this.#at, data.length, true);
    this.#bytes.set(data, this.#at + 4);
    this.#at += 4 + data.length;
  }

  #textHead(head: number, lengthBytes: number): void {
    if (head === 1) {
      this.#bytes[this.#at] = tag.shortText | lengthBytes;
    } else {
      this.#bytes[this.#at] = tag.text;
      this.#view.setUint32(this.#at + 1, lengthBytes, true);
    }
  }

  #wideText(text: string): void {
    this.#room(textHead + 2 * text.length);
    this.#bytes[this.#at] = tag.wideText;
    this.#view.setUint32(this.#at + 1, 2 * text.length, true);
    this.#at += textHead + this.#bytes.write(text, this.#at + textHead, 2 * text.length, "utf16le");
  }

  #room(bytes: number): void {
    if (this.#at + bytes > this.#limit) {
      this.#spill(bytes);
    }
  }

  /** Moves the unfinished record to a tape with `bytes` more room. */
  #spill(bytes: number): void {
    const begun = this.#bytes.subarray(this.#start, this.#at);
    const next = this.#nextTape(begun.length + bytes);
    next.bytes.set(begun, next.used);
    const at = next.used + begun.length;
    this.use(next);
    this.#at = at;
  }
}

/**
 * Whether a few units, evenly spread, hold one that is not ASCII. Encoding such text as UTF-8 takes
 * a branch for each unit, which is for a worker to do; UTF-16 is a copy of what is there.
 */
function looksForeign(text: string): boolean {
  const step = Math.floor(text.length / probes);
  let bits = 0;
  for (let i = 0; i < probes; i++) {
    bits |= text.charCodeAt(i * step);
  }
  return bits > 0x7f;
}

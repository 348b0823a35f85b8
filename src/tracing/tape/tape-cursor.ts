import {
  fieldHead,
  headOffset,
  operationCode,
  recordHead,
} from "../../model/records/tape-format.ts";
import type { Operation } from "../../model/run.ts";
import type { NextTape, Tape } from "./tape.ts";
import { noEnd } from "./write-sizes.ts";

/**
 * Where a writer's next byte goes, and whether there is room for it: records, fields and their bounds. A record
 * that does not fit moves, as far as it is written, to the next tape; offsets that a caller keeps are therefore
 * relative to the record ({@link mark}).
 *
 * The limit of a field and the tape's end are one bound (`limit`), so that the limit costs nothing where it is
 * not reached. A writer extends this, rather than having one: it touches these fields for every byte.
 */
export abstract class TapeCursor {
  #tape: Tape;
  protected bytes: Buffer;
  protected view: DataView;
  protected limit: number;
  #start = 0;
  protected at = 0;
  readonly #nextTape: NextTape;
  protected readonly fieldBytes: number;
  /** Where the field has to end, relative to the record. */
  #fieldEnd = noEnd;
  protected fieldCut = false;
  /** How many fields of the present record were cut. */
  cutFields = 0;

  /** `fieldBytes`: the limit of a field's content, markers excepted. */
  constructor(tape: Tape, nextTape: NextTape, fieldBytes: number = noEnd) {
    this.#tape = tape;
    this.bytes = tape.bytes;
    this.view = tape.view;
    this.limit = tape.capacity;
    this.at = tape.used;
    this.#nextTape = nextTape;
    this.fieldBytes = fieldBytes;
  }

  get tape(): Tape {
    return this.#tape;
  }

  /** Goes on at the end of `tape`. */
  use(tape: Tape): void {
    this.#tape = tape;
    this.bytes = tape.bytes;
    this.view = tape.view;
    this.limit = tape.capacity;
    this.#start = tape.used;
    this.at = tape.used;
    this.#fieldEnd = noEnd;
  }

  beginRecord(operation: Operation): void {
    this.use(this.#tape);
    this.cutFields = 0;
    this.ensureCapacity(recordHead);
    // The outcome behind it is `pending`, which is 0, and so is the rest of the head.
    const code = operation === "post" ? operationCode.post : operationCode.patch;
    this.view.setUint32(this.at + headOffset.operation, code, true);
    this.at += recordHead;
  }

  /** Makes the record part of the tape; returns its bytes. */
  endRecord(): number {
    const length = this.at - this.#start;
    this.view.setUint32(this.#start + headOffset.length, length, true);
    this.#tape.used = this.at;
    this.#tape.records += 1;
    this.#tape.starts +=
      this.bytes[this.#start + headOffset.operation] === operationCode.post ? 1 : 0;
    return length;
  }

  /** Forgets what was written since {@link beginRecord}. */
  abandonRecord(): void {
    this.use(this.#tape);
  }

  /** Opens a field; returns the mark that {@link endField} takes. */
  beginField(code: number, limit = this.fieldBytes): number {
    this.ensureCapacity(fieldHead);
    this.bytes[this.at] = code;
    const mark = this.at - this.#start;
    this.at += fieldHead;
    this.fieldCut = false;
    this.endFieldAt(mark + fieldHead + limit);
    return mark;
  }

  endField(mark: number): void {
    this.view.setUint32(this.#start + mark + 1, this.mark() - mark - fieldHead, true);
    this.endFieldAt(noEnd);
    this.cutFields += this.fieldCut ? 1 : 0;
  }

  /** Where the next byte goes, relative to the record. */
  mark(): number {
    return this.at - this.#start;
  }

  /** Has room for the `bytes` that are to come, and are all of the record's rest. */
  reserve(bytes: number): void {
    if (this.at + bytes > this.#tape.capacity) {
      this.move(bytes, true);
    }
  }

  /** Takes back all that was written since `mark`. */
  rewind(mark: number): void {
    this.at = this.#start + mark;
  }

  /** The head of a field of so many bytes, with room for them. */
  protected fieldOf(code: number, length: number): void {
    this.ensureCapacity(fieldHead + length);
    this.bytes[this.at] = code;
    this.view.setUint32(this.at + 1, length, true);
    this.at += fieldHead;
  }

  /** Bytes that the present field may still take. */
  protected fieldCapacity(): number {
    return this.#start + this.#fieldEnd - this.at;
  }

  /** The field is full: ends it. */
  protected abstract stop(atKey: boolean): never;

  protected ensureCapacity(bytes: number): void {
    if (this.at + bytes > this.limit) {
      this.spill(bytes);
    }
  }

  protected isBeyondField(bytes: number): boolean {
    return this.at + bytes > this.#start + this.#fieldEnd;
  }

  protected endFieldAt(end: number): void {
    this.#fieldEnd = end;
    this.limit = Math.min(this.#tape.capacity, this.#start + end);
  }

  /** The bound is reached: the field's, which ends it with a marker, or the tape's. */
  protected spill(bytes: number): void {
    if (this.isBeyondField(bytes)) {
      this.stop(false);
    }
    this.move(bytes);
  }

  /** Moves the unfinished record to a tape with `bytes` more room. */
  protected move(bytes: number, isExact = false): void {
    const begun = this.bytes.subarray(this.#start, this.at);
    const next = this.#nextTape(begun.length + bytes, isExact);
    next.bytes.set(begun, next.used);
    const fieldEnd = this.#fieldEnd;
    this.use(next);
    this.at += begun.length;
    this.endFieldAt(fieldEnd);
  }
}

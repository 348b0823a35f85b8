import {
  fieldHeadBytes,
  headOffset,
  operationCode,
  recordHeadBytes,
} from "../../model/records/tape-format.ts";
import type { Operation } from "../../model/run.ts";
import { copyBytes } from "./copy-bytes.ts";
import { readRecordContent } from "./record-content.ts";
import type { RecordContent } from "./record-content.ts";
import type { ProvideTape, Tape } from "./tape.ts";
import { unlimited } from "./write-sizes.ts";

/**
 * The position at which a writer appends to a tape (a buffer of records), and the capacity that is left there. It
 * tracks records, fields and their limits. A record that does not fit is moved to the next tape in the middle of
 * writing. Offsets that a caller keeps are therefore relative to the record ({@link position}).
 *
 * The limit of a field and the end of the tape are combined in one bound (`limit`), so that a write compares only once.
 * The writer extends this class instead of holding a cursor, because it accesses these properties for every byte.
 */
export abstract class TapeCursor {
  #tape: Tape;
  protected bytes: Buffer;
  protected view: DataView;
  protected limit: number;
  #recordStart = 0;
  protected offset = 0;
  readonly #provideNextTape: ProvideTape;
  protected readonly fieldBytes: number;
  /** Where the current field must end, relative to the record. */
  #fieldEnd = unlimited;
  protected isFieldCut = false;
  /** How many fields of the current record were truncated. */
  truncatedFieldCount = 0;

  /**
   * `maxFieldBytes` is the maximum size of a field's content in bytes. Markers at the end of a truncated field may
   * exceed it.
   */
  constructor(tape: Tape, provideNextTape: ProvideTape, maxFieldBytes: number = unlimited) {
    this.#tape = tape;
    this.bytes = tape.bytes;
    this.view = tape.view;
    this.limit = tape.capacity;
    this.offset = tape.usedBytes;
    this.#provideNextTape = provideNextTape;
    this.fieldBytes = maxFieldBytes;
  }

  get tape(): Tape {
    return this.#tape;
  }

  /** Continues to write at the end of `tape`. */
  continueOn(tape: Tape): void {
    this.#tape = tape;
    this.bytes = tape.bytes;
    this.view = tape.view;
    this.limit = tape.capacity;
    this.#recordStart = tape.usedBytes;
    this.offset = tape.usedBytes;
    this.#fieldEnd = unlimited;
  }

  beginRecord(operation: Operation): void {
    this.continueOn(this.#tape);
    this.truncatedFieldCount = 0;
    this.ensureCapacity(recordHeadBytes);
    // This 32-bit write sets the operation and clears the rest of the head; 0 is the outcome `pending`.
    const code = operation === "post" ? operationCode.post : operationCode.patch;
    this.view.setUint32(this.offset + headOffset.operation, code, true);
    this.offset += recordHeadBytes;
  }

  /** Completes the record, so that it is part of the tape. Returns the record's length in bytes. */
  endRecord(): number {
    const length = this.closeRecord();
    this.commitRecord(length);
    return length;
  }

  /**
   * Writes the record's length in bytes into the record's head, the fixed bytes at its start, and returns the length.
   */
  closeRecord(): number {
    const length = this.position();
    this.view.setUint32(this.#recordStart + headOffset.length, length, true);
    return length;
  }

  /**
   * Reads which run the closed record belongs to. `length` is the number of bytes that {@link closeRecord} returned.
   */
  readContent(length: number): RecordContent {
    return readRecordContent(this.#tape, this.#recordStart, this.#recordStart + length);
  }

  /**
   * Copies the closed record into its own memory. `length` is the number of bytes that {@link closeRecord} returned.
   */
  copyRecord(length: number): DataView {
    const copy = new DataView(new ArrayBuffer(length));
    copyBytes(this.view, copy, { from: this.#recordStart, to: 0, length });
    return copy;
  }

  /**
   * Writes the earlier records of the run next to its closed record. If they do not fit, all of them are moved to the
   * next tape. Returns their number of bytes.
   */
  addEarlierRecords(records: readonly DataView[]): number {
    const addedBytes = sumBytes(records);
    this.reserve(addedBytes);
    let targetOffset = this.offset;
    if (records.length > 1) {
      // The last update of a run counts, so the closed record must come after earlier updates. It may come before the
      // run's start: if the start is the only earlier record, the closed record is not moved.
      this.bytes.copyWithin(this.#recordStart + addedBytes, this.#recordStart, this.offset);
      targetOffset = this.#recordStart;
      this.#recordStart += addedBytes;
    }
    for (const record of records) {
      copyBytes(record, this.view, { from: 0, to: targetOffset, length: record.byteLength });
      targetOffset += record.byteLength;
    }
    this.offset += addedBytes;
    return addedBytes;
  }

  /**
   * Adds the closed record to the tape, together with the records that {@link addEarlierRecords} wrote. `length` is the
   * number of bytes that {@link closeRecord} returned.
   */
  commitRecord(length: number, added: AddedRecords = noRecords): void {
    const tape = this.#tape;
    const isPost = this.bytes[this.#recordStart + headOffset.operation] === operationCode.post;
    tape.usedBytes += length + added.sizeBytes;
    tape.records += 1 + added.count;
    tape.starts += added.starts + (isPost ? 1 : 0);
  }

  /** Discards everything written since {@link beginRecord}. */
  abandonRecord(): void {
    this.continueOn(this.#tape);
  }

  /** Begins a field. Returns the start of the field, to pass to {@link endField}. */
  beginField(code: number, limit = this.fieldBytes): number {
    this.ensureCapacity(fieldHeadBytes);
    this.bytes[this.offset] = code;
    const fieldStart = this.offset - this.#recordStart;
    this.offset += fieldHeadBytes;
    this.isFieldCut = false;
    this.setFieldEnd(fieldStart + fieldHeadBytes + limit);
    return fieldStart;
  }

  endField(fieldStart: number): void {
    this.view.setUint32(
      this.#recordStart + fieldStart + 1,
      this.position() - fieldStart - fieldHeadBytes,
      true,
    );
    this.setFieldEnd(unlimited);
    this.truncatedFieldCount += this.isFieldCut ? 1 : 0;
  }

  /** Returns the position of the next byte, relative to the record. */
  position(): number {
    return this.offset - this.#recordStart;
  }

  /** Ensures capacity for `bytes` more bytes, which must be everything that is still to be written to the record. */
  reserve(bytes: number): void {
    if (this.offset + bytes > this.#tape.capacity) {
      this.moveRecord(bytes, true);
    }
  }

  /** Discards everything written since `position`. */
  rewind(position: number): void {
    this.offset = this.#recordStart + position;
  }

  /** Writes the head of a field with `length` bytes of content, and ensures capacity for the content. */
  protected beginSizedField(code: number, length: number): void {
    this.ensureCapacity(fieldHeadBytes + length);
    this.bytes[this.offset] = code;
    this.view.setUint32(this.offset + 1, length, true);
    this.offset += fieldHeadBytes;
  }

  /** Returns the number of bytes that may still be written to the current field. */
  protected countFieldBytesLeft(): number {
    return this.#recordStart + this.#fieldEnd - this.offset;
  }

  /** Ends a field that is full. Throws FieldFull. */
  protected abstract endFullField(atKey: boolean): never;

  protected ensureCapacity(bytes: number): void {
    if (this.offset + bytes > this.limit) {
      this.handleLimit(bytes);
    }
  }

  /** Whether writing `bytes` would exceed the current field's limit. */
  protected isBeyondField(bytes: number): boolean {
    return this.offset + bytes > this.#recordStart + this.#fieldEnd;
  }

  /** Sets where the current field must end, relative to the record. */
  protected setFieldEnd(end: number): void {
    this.#fieldEnd = end;
    this.limit = Math.min(this.#tape.capacity, this.#recordStart + end);
  }

  /** Called when `limit` is reached: ends a full field with a marker, or moves the record to the next tape. */
  protected handleLimit(bytes: number): void {
    if (this.isBeyondField(bytes)) {
      this.endFullField(false);
    }
    this.moveRecord(bytes);
  }

  /** Moves the unfinished record to the next tape, with capacity for `additionalBytes` more. */
  protected moveRecord(additionalBytes: number, isExact = false): void {
    const writtenBytes = this.bytes.subarray(this.#recordStart, this.offset);
    const nextTape = this.#provideNextTape(writtenBytes.length + additionalBytes, isExact);
    nextTape.bytes.set(writtenBytes, nextTape.usedBytes);
    const fieldEnd = this.#fieldEnd;
    this.continueOn(nextTape);
    this.offset += writtenBytes.length;
    this.setFieldEnd(fieldEnd);
  }
}

/** Number and size of the records that were added next to another one, and how many of them are the start of a run. */
export interface AddedRecords {
  readonly count: number;
  readonly sizeBytes: number;
  readonly starts: number;
}

const noRecords: AddedRecords = { count: 0, sizeBytes: 0, starts: 0 };

const sumBytes = (records: readonly DataView[]): number =>
  records.reduce((sum, { byteLength }) => sum + byteLength, 0);

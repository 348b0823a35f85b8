import { uuidLength } from "../../model/dotted-order.ts";
import type { Operation } from "../../model/run.ts";
import {
  field,
  singleFieldCodeLimit,
  fieldHeadBytes,
  headOffset,
  writingCode,
  operationCode,
  outcomeCode,
  packWithheld,
  recordHeadBytes,
} from "../../model/records/tape-format.ts";
import type { WithheldCounts } from "../../model/records/tape-format.ts";

/**
 * How many numbers the field index of one record has. Each field code has two: the offset of the field, which is 0 if
 * the field is absent, and its length.
 */
export const numbersPerFieldIndex = 2 * singleFieldCodeLimit;
const numbersPerRecord = numbersPerFieldIndex;

/**
 * The outcome of a record, such as `delivered`. The record's head, the fixed bytes at its start, stores the outcome as
 * a number.
 */
export type RecordOutcome = keyof typeof outcomeCode;

/** Finds the records of one tape, which is a buffer of records, in one pass, and reads them in place. */
export class TapeReader {
  readonly bytes: Buffer;
  readonly view: DataView;
  /** Number of records whose outcome is not known yet. Only these are read. */
  readonly count: number;
  /** For each record: its offset on the tape. */
  readonly #headOffsets: number[] = [];
  /** For each record: the offset of its run's id. */
  readonly #idOffsets: number[] = [];
  /** For each record: whether it has a dotted order, which then ends with the run's id. */
  readonly #hasDottedOrder: boolean[] = [];
  /** Offset and length of each field of each record; built when it is first needed. */
  #fieldIndex: Uint32Array | undefined;
  /** Offsets of the fields with the code `other`, by record. */
  readonly #unknownFields = new Map<number, number[]>();
  /** Offsets of the attachments, by record. */
  readonly #attachments = new Map<number, number[]>();
  /** Bytes of the attachment fields, by record. */
  readonly #attachmentBytes = new Map<number, number>();
  /** Offsets of the exchanges, by record. */
  readonly #exchanges = new Map<number, number[]>();

  /**
   * Reads `memory` from byte `start` to byte `end`.
   *
   * @throws RangeError if there are no valid records.
   */
  constructor(memory: ArrayBufferLike, end: number, start = 0) {
    this.bytes = Buffer.from(memory, 0, end);
    this.view = new DataView(memory, 0, end);
    for (let offset = start; offset < end;) {
      const length = this.view.getUint32(offset + headOffset.length, true);
      if (length < recordHeadBytes || offset + length > end) {
        throw new RangeError(`No record at byte ${offset} of the tape`);
      }
      if (this.bytes[offset + headOffset.outcome] === outcomeCode.pending) {
        this.#headOffsets.push(offset);
        this.#readFields(offset, offset + length);
      }
      offset += length;
    }
    this.count = this.#headOffsets.length;
  }

  readOperation(record: number): Operation {
    const code = this.bytes[this.#findHead(record) + headOffset.operation];
    return code === operationCode.post ? "post" : "patch";
  }

  /** Returns the offset of a field's content; 0 if the record has no such field. */
  findFieldStart(record: number, code: number): number {
    return this.#getFieldIndex()[record * numbersPerRecord + 2 * code] ?? 0;
  }

  /** Returns the length of a field's content in bytes. */
  findFieldLength(record: number, code: number): number {
    return this.#getFieldIndex()[record * numbersPerRecord + 2 * code + 1] ?? 0;
  }

  /**
   * Overwrites entries of `fields` with the offset and length of each field that the record has,
   * two numbers for each field code.
   */
  addFields(record: number, fields: Uint32Array): void {
    const index = this.#getFieldIndex();
    const base = record * numbersPerRecord;
    for (let i = 2; i < numbersPerRecord; i += 2) {
      const start = index[base + i] ?? 0;
      if (start !== 0) {
        fields[i] = start;
        fields[i + 1] = index[base + i + 1] ?? 0;
      }
    }
  }

  /** Returns the offsets of the record's fields that the wire format does not define. */
  listUnknownFields(record: number): readonly number[] {
    return this.#unknownFields.get(record) ?? [];
  }

  /** Whether any record has fields that the wire format does not define. */
  get hasUnknownFields(): boolean {
    return this.#unknownFields.size > 0;
  }

  /** Returns the offsets of the record's attachments. */
  listAttachmentOffsets(record: number): readonly number[] {
    return this.#attachments.get(record) ?? [];
  }

  /** Whether any record has attachments. */
  get hasAttachments(): boolean {
    return this.#attachments.size > 0;
  }

  /** Returns the offsets of the record's exchanges. */
  listExchanges(record: number): readonly number[] {
    return this.#exchanges.get(record) ?? [];
  }

  /**
   * Whether any record has exchanges (recorded bytes of model calls), which must be replaced by the fields that are
   * read from them.
   */
  get hasExchanges(): boolean {
    return this.#exchanges.size > 0;
  }

  /** Returns the number of bytes of all fields of the record, including the heads of fields, without attachments. */
  measureRecord(record: number): number {
    const fieldsBytes =
      this.view.getUint32(this.#findHead(record) + headOffset.length, true) - recordHeadBytes;
    return fieldsBytes - (this.#attachmentBytes.get(record) ?? 0);
  }

  /** Returns the offset of the run's id, a text of {@link uuidLength} bytes. */
  findIdStart(record: number): number {
    return this.#idOffsets[record] ?? 0;
  }

  readRunId(record: number): string {
    const start = this.findIdStart(record);
    return this.bytes.toString("latin1", start, start + uuidLength);
  }

  /** Whether the record has a dotted order, without which it can't be part of a batch. */
  hasDottedOrder(record: number): boolean {
    return this.#hasDottedOrder[record] === true;
  }

  /** Returns the offset of the record on the tape. */
  findHead(record: number): number {
    return this.#findHead(record);
  }

  /**
   * Returns the offset of the record on the tape that the main thread reads. If this reader reads a copy, that is a
   * different tape.
   */
  findOriginalHead(record: number): number {
    return this.#findHead(record);
  }

  /** Returns the range of the tape that contains all these records. */
  findExtent(groups: readonly { readonly records: readonly number[] }[]): {
    readonly start: number;
    readonly end: number;
  } {
    let firstRecord = Number.POSITIVE_INFINITY;
    let lastRecord = -1;
    for (const { records } of groups) {
      for (const record of records) {
        firstRecord = Math.min(firstRecord, record);
        lastRecord = Math.max(lastRecord, record);
      }
    }
    if (lastRecord < 0) {
      return { start: 0, end: 0 };
    }
    const recordStart = this.#findHead(lastRecord);
    const end = recordStart + this.view.getUint32(recordStart + headOffset.length, true);
    return { start: this.#findHead(firstRecord), end };
  }

  /**
   * Marks these records while their JSON is written. After a crash of this thread the main thread reads the marks.
   */
  markBeingWritten(records: readonly number[]): void {
    this.#mark(records, writingCode.yes);
  }

  /** Removes the marks after the JSON of the records was written. */
  clearBeingWritten(records: readonly number[]): void {
    this.#mark(records, writingCode.no);
  }

  /** Stores the outcome of a record in its head. */
  writeOutcome(record: number, outcome: RecordOutcome): void {
    this.bytes[this.#findHead(record) + headOffset.outcome] = outcomeCode[outcome];
  }

  /**
   * Stores how many payloads and attachments of the record's run were replaced by markers when the run was delivered.
   */
  writeWithheldCounts(record: number, counts: WithheldCounts): void {
    this.bytes[this.#findHead(record) + headOffset.withheld] = packWithheld(counts);
  }

  #mark(records: readonly number[], code: number): void {
    for (const record of records) {
      this.bytes[this.#findHead(record) + headOffset.beingWritten] = code;
    }
  }

  #findHead(record: number): number {
    return this.#headOffsets[record] ?? 0;
  }

  /** Reads the fields of the record that was added last to {@link TapeReader.#headOffsets}. */
  #readFields(head: number, end: number): void {
    const record = this.#headOffsets.length - 1;
    let idOffset = 0;
    let hasDottedOrder = false;
    for (let offset = head + recordHeadBytes; offset < end;) {
      const code = this.bytes[offset] ?? 0;
      const length = this.view.getUint32(offset + 1, true);
      const start = offset + fieldHeadBytes;
      if (code === field.dottedOrder) {
        idOffset = start + length - uuidLength;
        hasDottedOrder = true;
      } else if (code === field.id) {
        idOffset = hasDottedOrder ? idOffset : start;
      } else if (code === field.other) {
        appendOffset(this.#unknownFields, record, start);
      } else if (code === field.exchange) {
        appendOffset(this.#exchanges, record, start);
      } else if (code === field.attachment) {
        appendOffset(this.#attachments, record, start);
        const earlierBytes = this.#attachmentBytes.get(record) ?? 0;
        this.#attachmentBytes.set(record, earlierBytes + fieldHeadBytes + length);
      }
      offset = start + length;
    }
    this.#idOffsets.push(idOffset);
    this.#hasDottedOrder.push(hasDottedOrder);
  }

  /** Returns the field index of all records, which is built when it is first needed. */
  #getFieldIndex(): Uint32Array {
    this.#fieldIndex ??= this.#fillIndex(new Uint32Array(this.count * numbersPerRecord));
    return this.#fieldIndex;
  }

  #fillIndex(fields: Uint32Array): Uint32Array {
    for (let record = 0; record < this.count; record++) {
      const head = this.#findHead(record);
      const end = head + this.view.getUint32(head + headOffset.length, true);
      const base = record * numbersPerRecord;
      for (let offset = head + recordHeadBytes; offset < end;) {
        const code = this.bytes[offset] ?? 0;
        const length = this.view.getUint32(offset + 1, true);
        const start = offset + fieldHeadBytes;
        if (code < singleFieldCodeLimit) {
          fields[base + 2 * code] = start;
          fields[base + 2 * code + 1] = length;
        }
        offset = start + length;
      }
    }
    return fields;
  }
}

function appendOffset(lists: Map<number, number[]>, record: number, start: number): void {
  const list = lists.get(record);
  if (list === undefined) {
    lists.set(record, [start]);
  } else {
    list.push(start);
  }
}

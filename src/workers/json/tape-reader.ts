import { uuidLength } from "../../model/dotted-order.ts";
import type { Operation } from "../../model/run.ts";
import {
  field,
  fieldCodes,
  fieldHead,
  headOffset,
  writingCode,
  operationCode,
  outcomeCode,
  recordHead,
} from "../../model/records/tape-format.ts";

/**
 * Numbers in the field index of one record: for each field code an offset, 0 if the field is
 * absent, and a length.
 */
export const fieldNumbers = 2 * fieldCodes;
const numbersPerRecord = fieldNumbers;

/** What became of a record: whether it was delivered. The head of the record stores it as a number. */
export type RecordOutcome = keyof typeof outcomeCode;

/** Finds the records of one tape in one pass, and reads them in place. */
export class TapeReader {
  readonly bytes: Buffer;
  readonly view: DataView;
  /** Number of records whose outcome is not known yet. Only these are read. */
  readonly count: number;
  readonly #heads: number[] = [];
  /** For each record: the offset of its run's id. */
  readonly #ids: number[] = [];
  /** For each record: whether it has a dotted order, which then also contains the id. */
  readonly #hasDottedOrder: boolean[] = [];
  /** The field index, built at its first use. */
  #fields: Uint32Array | undefined;
  /** Offsets of the fields with the code `other`, by record. */
  readonly #others = new Map<number, number[]>();
  /** Offsets of the attachments, by record. */
  readonly #attachments = new Map<number, number[]>();
  /** Bytes of the attachment fields, by record. */
  readonly #attachmentBytes = new Map<number, number>();

  /**
   * Reads `memory` from byte `from` to byte `used`.
   *
   * @throws RangeError if there are no valid records.
   */
  constructor(memory: SharedArrayBuffer, used: number, from = 0) {
    this.bytes = Buffer.from(memory, 0, used);
    this.view = new DataView(memory, 0, used);
    for (let at = from; at < used;) {
      const length = this.view.getUint32(at + headOffset.length, true);
      if (length < recordHead || at + length > used) {
        throw new RangeError(`No record at byte ${at} of the tape`);
      }
      if (this.bytes[at + headOffset.outcome] === outcomeCode.pending) {
        this.#heads.push(at);
        this.#scan(at, at + length);
      }
      at += length;
    }
    this.count = this.#heads.length;
  }

  operation(record: number): Operation {
    const code = this.bytes[this.#head(record) + headOffset.operation];
    return code === operationCode.post ? "post" : "patch";
  }

  /** Offset of a field's content; 0 if the record has no such field. */
  start(record: number, code: number): number {
    return this.#fieldIndex()[record * numbersPerRecord + 2 * code] ?? 0;
  }

  /** Length of a field's content in bytes. */
  length(record: number, code: number): number {
    return this.#fieldIndex()[record * numbersPerRecord + 2 * code + 1] ?? 0;
  }

  /**
   * Overwrites entries of `fields` with the offset and length of each field that the record has,
   * two numbers for each field code.
   */
  addFields(record: number, fields: Uint32Array): void {
    const index = this.#fieldIndex();
    const base = record * numbersPerRecord;
    for (let i = 2; i < numbersPerRecord; i += 2) {
      const start = index[base + i] ?? 0;
      if (start !== 0) {
        fields[i] = start;
        fields[i + 1] = index[base + i + 1] ?? 0;
      }
    }
  }

  /** Offsets of the record's fields that the wire format does not define. */
  others(record: number): readonly number[] {
    return this.#others.get(record) ?? [];
  }

  /** Whether any record has fields that the wire format does not define. */
  get hasOthers(): boolean {
    return this.#others.size > 0;
  }

  /** Offsets of the record's attachments. */
  attachments(record: number): readonly number[] {
    return this.#attachments.get(record) ?? [];
  }

  /** Whether any record has attachments. */
  get hasAttachments(): boolean {
    return this.#attachments.size > 0;
  }

  /** Bytes of all fields of the record, including the heads of fields, without attachments. */
  size(record: number): number {
    const fieldsBytes =
      this.view.getUint32(this.#head(record) + headOffset.length, true) - recordHead;
    return fieldsBytes - (this.#attachmentBytes.get(record) ?? 0);
  }

  /** Offset of the run's id, a text of {@link uuidLength} bytes. */
  idStart(record: number): number {
    return this.#ids[record] ?? 0;
  }

  /** The run's id. */
  runId(record: number): string {
    const start = this.idStart(record);
    return this.bytes.toString("latin1", start, start + uuidLength);
  }

  /** Whether the record has a dotted order, without which it can't be part of a batch. */
  hasDottedOrder(record: number): boolean {
    return this.#hasDottedOrder[record] === true;
  }

  /** Offset of the record on the tape. */
  head(record: number): number {
    return this.#head(record);
  }

  /** The range of the tape that contains all these records. */
  extent(groups: readonly { readonly records: readonly number[] }[]): {
    readonly from: number;
    readonly to: number;
  } {
    let first = Number.POSITIVE_INFINITY;
    let last = -1;
    for (const { records } of groups) {
      for (const record of records) {
        first = Math.min(first, record);
        last = Math.max(last, record);
      }
    }
    if (last < 0) {
      return { from: 0, to: 0 };
    }
    const head = this.#head(last);
    const to = head + this.view.getUint32(head + headOffset.length, true);
    return { from: this.#head(first), to };
  }

  /** Marks these records as being written. After a crash of this thread the main thread reads the marks. */
  markBeingWritten(records: readonly number[]): void {
    this.#mark(records, writingCode.yes);
  }

  /** Removes the marks after the records were written. */
  clearBeingWritten(records: readonly number[]): void {
    this.#mark(records, writingCode.no);
  }

  /** Stores the outcome of a record in its head. */
  writeOutcome(record: number, outcome: RecordOutcome): void {
    this.bytes[this.#head(record) + headOffset.outcome] = outcomeCode[outcome];
  }

  /**
   * Stores how many payloads and attachments of the record's run were replaced by markers when it
   * was delivered.
   */
  writeWithheldCount(record: number, count: number): void {
    this.bytes[this.#head(record) + headOffset.withheld] = Math.min(count, 0xff);
  }

  #mark(records: readonly number[], code: number): void {
    for (const record of records) {
      this.bytes[this.#head(record) + headOffset.beingWritten] = code;
    }
  }

  #head(record: number): number {
    return this.#heads[record] ?? 0;
  }

  /** Reads the fields of the record that was added last to {@link TapeReader.#heads}. */
  #scan(head: number, end: number): void {
    const record = this.#heads.length - 1;
    let id = 0;
    let hasDottedOrder = false;
    for (let at = head + recordHead; at < end;) {
      const code = this.bytes[at] ?? 0;
      const length = this.view.getUint32(at + 1, true);
      const start = at + fieldHead;
      if (code === field.dottedOrder) {
        id = start + length - uuidLength;
        hasDottedOrder = true;
      } else if (code === field.id) {
        id = hasDottedOrder ? id : start;
      } else if (code === field.other) {
        appendOffset(this.#others, record, start);
      } else if (code === field.attachment) {
        appendOffset(this.#attachments, record, start);
        const before = this.#attachmentBytes.get(record) ?? 0;
        this.#attachmentBytes.set(record, before + fieldHead + length);
      }
      at = start + length;
    }
    this.#ids.push(id);
    this.#hasDottedOrder.push(hasDottedOrder);
  }

  /** The field index of all records. */
  #fieldIndex(): Uint32Array {
    this.#fields ??= this.#fillIndex(new Uint32Array(this.count * numbersPerRecord));
    return this.#fields;
  }

  #fillIndex(fields: Uint32Array): Uint32Array {
    for (let record = 0; record < this.count; record++) {
      const head = this.#head(record);
      const end = head + this.view.getUint32(head + headOffset.length, true);
      const base = record * numbersPerRecord;
      for (let at = head + recordHead; at < end;) {
        const code = this.bytes[at] ?? 0;
        const length = this.view.getUint32(at + 1, true);
        const start = at + fieldHead;
        if (code < fieldCodes) {
          fields[base + 2 * code] = start;
          fields[base + 2 * code + 1] = length;
        }
        at = start + length;
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

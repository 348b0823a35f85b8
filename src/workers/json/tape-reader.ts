import { uuidLength } from "../../model/dotted-order.ts";
import type { Operation } from "../../model/run.ts";
import {
  field,
  fieldCodes,
  fieldHead,
  headOffset,
  inHandCode,
  operationCode,
  outcomeCode,
  recordHead,
} from "../../model/records/tape-format.ts";

/** Offset and length of each field of one record: two numbers a field code; offset 0 is absent. */
export const fieldNumbers = 2 * fieldCodes;
const stride = fieldNumbers;

/** The outcome in the head of a record. */
export type RecordOutcome = keyof typeof outcomeCode;

/** The records of one tape, found in one pass and read in place. */
export class TapeReader {
  readonly bytes: Buffer;
  readonly view: DataView;
  /** Records whose outcome is not known yet. */
  readonly count: number;
  readonly #heads: number[] = [];
  /** Where their runs' ids are, and whether that is in a dotted order. */
  readonly #ids: number[] = [];
  readonly #placed: boolean[] = [];
  /** Built at the first use. */
  #fields: Uint32Array | undefined;
  /** Where fields of the code `other` begin, by record. */
  readonly #others = new Map<number, number[]>();
  /** Where attachments begin, by record. */
  readonly #attachments = new Map<number, number[]>();
  /** Bytes of their fields, by record. */
  readonly #attached = new Map<number, number>();

  /** Reads `memory` from byte `from` to byte `used`. Throws RangeError where that is no tape. */
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

  /** Where a field's content begins; 0 where the record has no such field. */
  start(record: number, code: number): number {
    return this.#index()[record * stride + 2 * code] ?? 0;
  }

  /** Bytes of a field's content. */
  length(record: number, code: number): number {
    return this.#index()[record * stride + 2 * code + 1] ?? 0;
  }

  /** Adds where a record's fields are, two numbers a code as {@link TapeReader.start} and `length` say, over what is there. */
  addFields(record: number, fields: Uint32Array): void {
    const index = this.#index();
    const base = record * stride;
    for (let i = 2; i < stride; i += 2) {
      const start = index[base + i] ?? 0;
      if (start !== 0) {
        fields[i] = start;
        fields[i + 1] = index[base + i + 1] ?? 0;
      }
    }
  }

  /** Where the fields that the wire does not name begin. */
  others(record: number): readonly number[] {
    return this.#others.get(record) ?? [];
  }

  /** Whether any record has such fields. */
  get hasOthers(): boolean {
    return this.#others.size > 0;
  }

  /** Where the record's attachments begin. */
  attachments(record: number): readonly number[] {
    return this.#attachments.get(record) ?? [];
  }

  /** Whether any record has some. */
  get hasAttachments(): boolean {
    return this.#attachments.size > 0;
  }

  /** Bytes of all fields' contents, and a little; without attachments. */
  size(record: number): number {
    const all = this.view.getUint32(this.#head(record) + headOffset.length, true) - recordHead;
    return all - (this.#attached.get(record) ?? 0);
  }

  /** Where the run's id is, as text of {@link uuidLength} bytes. */
  idStart(record: number): number {
    return this.#ids[record] ?? 0;
  }

  /** The run's id. */
  runId(record: number): string {
    const start = this.idStart(record);
    return this.bytes.toString("latin1", start, start + uuidLength);
  }

  /** Whether the record can go into a batch: it has its place in a trace. */
  hasDottedOrder(record: number): boolean {
    return this.#placed[record] === true;
  }

  /** Where the record begins on the tape. */
  head(record: number): number {
    return this.#head(record);
  }

  /** The part of the tape on which all these records are. */
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
  take(records: readonly number[]): void {
    this.#mark(records, inHandCode.yes);
  }

  /** They are written. */
  putBack(records: readonly number[]): void {
    this.#mark(records, inHandCode.no);
  }

  settle(record: number, outcome: RecordOutcome): void {
    this.bytes[this.#head(record) + headOffset.outcome] = outcomeCode[outcome];
  }

  /** Notes how much of the record's run was left out as it was delivered: payloads, attachments. */
  withhold(record: number, payloads: number): void {
    this.bytes[this.#head(record) + headOffset.withheld] = Math.min(payloads, 0xff);
  }

  #mark(records: readonly number[], code: number): void {
    for (const record of records) {
      this.bytes[this.#head(record) + headOffset.inHand] = code;
    }
  }

  #head(record: number): number {
    return this.#heads[record] ?? 0;
  }

  /** Takes in one more record, the last of {@link TapeReader.#heads}. */
  #scan(head: number, end: number): void {
    const record = this.#heads.length - 1;
    let id = 0;
    let placed = false;
    for (let at = head + recordHead; at < end;) {
      const code = this.bytes[at] ?? 0;
      const length = this.view.getUint32(at + 1, true);
      const start = at + fieldHead;
      if (code === field.dottedOrder) {
        id = start + length - uuidLength;
        placed = true;
      } else if (code === field.id) {
        id = placed ? id : start;
      } else if (code === field.other) {
        addTo(this.#others, record, start);
      } else if (code === field.attachment) {
        addTo(this.#attachments, record, start);
        const before = this.#attached.get(record) ?? 0;
        this.#attached.set(record, before + fieldHead + length);
      }
      at = start + length;
    }
    this.#ids.push(id);
    this.#placed.push(placed);
  }

  /** Where all fields are. */
  #index(): Uint32Array {
    this.#fields ??= this.#indexed(new Uint32Array(this.count * stride));
    return this.#fields;
  }

  #indexed(fields: Uint32Array): Uint32Array {
    for (let record = 0; record < this.count; record++) {
      const head = this.#head(record);
      const end = head + this.view.getUint32(head + headOffset.length, true);
      const base = record * stride;
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

function addTo(lists: Map<number, number[]>, record: number, start: number): void {
  const list = lists.get(record);
  if (list === undefined) {
    lists.set(record, [start]);
  } else {
    list.push(start);
  }
}

import type { Operation, PayloadField } from "../../model/run.ts";
import type { Attachment } from "./attachments.ts";
import type { TapeReader } from "./tape-reader.ts";
import { uuidLength } from "../../model/dotted-order.ts";

/** What is sent of one run: its start, its end, or both joined. */
export interface RunOperation {
  readonly id: string;
  readonly operation: Operation;
  /** The records it is made of, the latest first: a field is taken from the first that has it. */
  readonly records: readonly number[];
  /** Whether it can go into a batch; one without a place in a trace goes alone. */
  readonly batchable: boolean;
  /** Payloads that are left out, a marker in place of each: with them it is more than the server takes. */
  readonly withheld?: readonly PayloadField[];
  /** Those that are sent with it; absent where it has none. */
  readonly attachments?: readonly Attachment[];
  /** Nothing is sent of it but its attachments. */
  readonly attachmentsOnly?: true;
}

/**
 * Joins the records of a run that wait together: a start and its ends become one post, several ends
 * one patch. Posts come first, as the wire wants them (docs/wire.md).
 */
export function joinRecords(reader: TapeReader): readonly RunOperation[] {
  const places = new RunPositions(reader);
  const all: Joined[] = [];
  let patches = 0;
  for (let record = 0; record < reader.count; record++) {
    const operation = reader.operation(record);
    const batchable = reader.hasDottedOrder(record);
    const place = places.find(record, all.length);
    const joined = all[place];
    if (joined === undefined) {
      all.push({ id: reader.runId(record), operation, records: [record], batchable });
      patches += operation === "patch" ? 1 : 0;
      continue;
    }
    joined.batchable &&= batchable;
    if (operation === "post") {
      patches -= joined.operation === "patch" ? 1 : 0;
      joined.operation = operation;
      joined.records.push(record);
    } else {
      // A new list, of two mostly: one that is moved up costs more.
      joined.records = [record, ...joined.records];
    }
  }
  return patches === 0
    ? all
    : [
        ...all.filter(({ operation }) => operation === "post"),
        ...all.filter(({ operation }) => operation === "patch"),
      ];
}

/** A run while its records are found: ends before starts, the latest end first. */
interface Joined extends RunOperation {
  operation: Operation;
  records: number[];
  batchable: boolean;
}

/** The start and the end of a run that were joined, apart; none where they are not both in it. */
export function startAndEnd(reader: TapeReader, run: RunOperation): readonly RunOperation[] {
  const ofKind = (operation: Operation): RunOperation => {
    const records = run.records.filter((record) => reader.operation(record) === operation);
    const attachments = run.attachments?.filter(({ record }) => records.includes(record));
    return { ...run, operation, records, ...(attachments && { attachments }) };
  };
  const parts = [ofKind("post"), ofKind("patch")];
  return parts.every(({ records }) => records.length > 0) ? parts : [];
}

/** The record to take a field from; -1 where none has it. */
export function recordWith(reader: TapeReader, operation: RunOperation, code: number): number {
  for (const record of operation.records) {
    if (reader.start(record, code) !== 0) {
      return record;
    }
  }
  return -1;
}

/** How much of it has a marker in its place. */
export const leftOutOf = ({ withheld, attachments }: RunOperation): number =>
  (withheld?.length ?? 0) +
  (attachments?.filter(({ leftOut }) => leftOut !== undefined).length ?? 0);

/** Bytes of all its records' contents: about the bytes of its JSON. */
export function sizeOf(reader: TapeReader, operation: RunOperation): number {
  let size = 0;
  for (const record of operation.records) {
    size += reader.size(record);
  }
  return size;
}

const wordBytes = 4;
/** Places for each record, at least: few find theirs taken. */
const roominess = 2;
const nobody = -1;

/** Finds the records of one run by its id as it lies on the tape: no text is made of it. */
class RunPositions {
  readonly #reader: TapeReader;
  /** By place: the run that has it, and where its id is. */
  readonly #runs: Int32Array;
  readonly #idsAt: Int32Array;

  constructor(reader: TapeReader) {
    const size = 2 ** Math.ceil(Math.log2(roominess * reader.count + 1));
    this.#reader = reader;
    this.#runs = new Int32Array(size).fill(nobody);
    this.#idsAt = new Int32Array(size);
  }

  /** The run that the record is of; `next`, from now on, where it is the first of its run. */
  find(record: number, next: number): number {
    const { view } = this.#reader;
    const at = this.#reader.idStart(record);
    const last = this.#runs.length - 1;
    for (let place = hashAt(view, at) & last; ; place = (place + 1) & last) {
      const run = this.#runs[place] ?? nobody;
      if (run === nobody) {
        this.#runs[place] = next;
        this.#idsAt[place] = at;
        return next;
      }
      if (isSameId(view, at, this.#idsAt[place] ?? 0)) {
        return run;
      }
    }
  }
}

/** Of all of an id's bytes: which of them differ from run to run depends on who makes the ids. */
function hashAt(view: DataView, start: number): number {
  let hash = 0;
  for (let at = start; at < start + uuidLength; at += wordBytes) {
    hash = Math.imul(hash ^ view.getInt32(at, true), 0x9e3779b1);
    hash ^= hash >>> 15;
  }
  return hash;
}

function isSameId(view: DataView, one: number, other: number): boolean {
  for (let i = 0; i < uuidLength; i += wordBytes) {
    if (view.getInt32(one + i, true) !== view.getInt32(other + i, true)) {
      return false;
    }
  }
  return true;
}

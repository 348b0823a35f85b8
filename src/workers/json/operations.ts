import type { WithheldCounts } from "../../model/records/tape-format.ts";
import type { Operation, PayloadField } from "../../model/run.ts";
import type { Attachment } from "./attachments.ts";
import type { TapeReader } from "./tape-reader.ts";
import { uuidLength } from "../../model/dotted-order.ts";

/** What is sent for one run: its start, its end, or both joined. */
export interface RunOperation {
  readonly id: string;
  readonly operation: Operation;
  /**
   * The records of the run, the latest first. Each field of the run is read from the first record that has the field.
   */
  readonly records: readonly number[];
  /** Whether the run can be part of a batch. A run without a dotted order is sent alone. */
  readonly isBatchable: boolean;
  /**
   * Payload fields that are replaced by a marker (a short text with their size), because with them the run is larger
   * than the server accepts.
   */
  readonly withheldFields?: readonly PayloadField[];
  /** The run's attachments; absent if it has none. */
  readonly attachments?: readonly Attachment[];
  /** Set if only the attachments of the run are sent. */
  readonly hasOnlyAttachments?: true;
}

/**
 * Joins the records of each run on the tape, a buffer of records: a start and its ends become one post, several ends
 * one patch. Posts come first, as the wire format requires (docs/wire.md).
 */
export function joinRecords(reader: TapeReader): readonly RunOperation[] {
  const runIndex = new RunIndex(reader);
  const joinedRuns: JoinedRun[] = [];
  let patches = 0;
  for (let record = 0; record < reader.count; record++) {
    const operation = reader.readOperation(record);
    const isBatchable = reader.hasDottedOrder(record);
    const index = runIndex.findOrAdd(record, joinedRuns.length);
    const existingRun = joinedRuns[index];
    if (existingRun === undefined) {
      joinedRuns.push({ id: reader.readRunId(record), operation, records: [record], isBatchable });
      patches += operation === "patch" ? 1 : 0;
      continue;
    }
    existingRun.isBatchable &&= isBatchable;
    if (operation === "post") {
      patches -= existingRun.operation === "patch" ? 1 : 0;
      existingRun.operation = operation;
      existingRun.records.push(record);
    } else {
      // This creates a new array, because it usually has two elements, and `unshift` would be slower.
      existingRun.records = [record, ...existingRun.records];
    }
  }
  return patches === 0
    ? joinedRuns
    : [
        ...joinedRuns.filter(({ operation }) => operation === "post"),
        ...joinedRuns.filter(({ operation }) => operation === "patch"),
      ];
}

/** A run while its records are collected: ends before starts, the latest end first. */
interface JoinedRun extends RunOperation {
  operation: Operation;
  records: number[];
  isBatchable: boolean;
}

/**
 * Separates the start and the end of a run that were joined. Returns an empty array if the run does
 * not have both.
 */
export function separateStartAndEnd(
  reader: TapeReader,
  run: RunOperation,
): readonly RunOperation[] {
  const select = (operation: Operation): RunOperation => {
    const records = run.records.filter((record) => reader.readOperation(record) === operation);
    const attachments = run.attachments?.filter(({ record }) => records.includes(record));
    return { ...run, operation, records, ...(attachments && { attachments }) };
  };
  const parts = [select("post"), select("patch")];
  return parts.every(({ records }) => records.length > 0) ? parts : [];
}

/** Finds the record from which a field is read; -1 if no record has the field. */
export function findRecordWith(reader: TapeReader, operation: RunOperation, code: number): number {
  for (const record of operation.records) {
    if (reader.findFieldStart(record, code) !== 0) {
      return record;
    }
  }
  return -1;
}

const nothingWithheld: WithheldCounts = { payloads: 0, attachments: 0 };

/** Counts the payloads and attachments that are left out of the run, with a marker in their place. */
export const countWithheld = ({ withheldFields, attachments }: RunOperation): WithheldCounts =>
  withheldFields === undefined && attachments === undefined
    ? nothingWithheld
    : {
        payloads: withheldFields?.length ?? 0,
        attachments: attachments?.filter((one) => one.omittedReason !== undefined).length ?? 0,
      };

/** Returns the number of bytes of the contents of a run's records, which is about the size of the run's JSON. */
export function measureRun(reader: TapeReader, operation: RunOperation): number {
  let totalBytes = 0;
  for (const record of operation.records) {
    totalBytes += reader.measureRecord(record);
  }
  return totalBytes;
}

const wordBytes = 4;
/** Minimum number of hash slots for each record. More slots mean fewer collisions. */
const slotsPerRecord = 2;
const emptySlot = -1;

/**
 * A hash table from the run ids on the tape to the joined runs. It compares ids as bytes and
 * creates no strings.
 */
class RunIndex {
  readonly #reader: TapeReader;
  /** For each slot: the index of its run, and the offset of the run's id on the tape. */
  readonly #runs: Int32Array;
  readonly #idOffsets: Int32Array;

  constructor(reader: TapeReader) {
    const slotCount = 2 ** Math.ceil(Math.log2(slotsPerRecord * reader.count + 1));
    this.#reader = reader;
    this.#runs = new Int32Array(slotCount).fill(emptySlot);
    this.#idOffsets = new Int32Array(slotCount);
  }

  /**
   * Returns the index of the record's run. If the record is the first of its run, adds the run with
   * the index `nextIndex`.
   */
  findOrAdd(record: number, nextIndex: number): number {
    const { view } = this.#reader;
    const offset = this.#reader.findIdStart(record);
    const slotMask = this.#runs.length - 1;
    for (let slot = hashIdAt(view, offset) & slotMask; ; slot = (slot + 1) & slotMask) {
      const run = this.#runs[slot] ?? emptySlot;
      if (run === emptySlot) {
        this.#runs[slot] = nextIndex;
        this.#idOffsets[slot] = offset;
        return nextIndex;
      }
      if (isSameId(view, offset, this.#idOffsets[slot] ?? 0)) {
        return run;
      }
    }
  }
}

/** Hashes all bytes of a run id, because the bytes in which ids differ depend on the program that creates them. */
function hashIdAt(view: DataView, start: number): number {
  let hash = 0;
  for (let offset = start; offset < start + uuidLength; offset += wordBytes) {
    hash = Math.imul(hash ^ view.getInt32(offset, true), 0x9e3779b1);
    hash ^= hash >>> 15;
  }
  return hash;
}

function isSameId(view: DataView, first: number, second: number): boolean {
  for (let i = 0; i < uuidLength; i += wordBytes) {
    if (view.getInt32(first + i, true) !== view.getInt32(second + i, true)) {
      return false;
    }
  }
  return true;
}

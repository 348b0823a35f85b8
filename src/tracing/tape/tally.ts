import {
  headOffset,
  unpackWithheld,
  writingCode,
  operationCode,
  outcomeCode,
} from "../../model/records/tape-format.ts";
import type { Tape } from "./tape.ts";

/** The number of records on a tape (a buffer of encoded records) for each outcome. */
export interface OutcomeCounts {
  readonly pending: number;
  readonly delivered: number;
  readonly rejected: number;
  readonly quarantined: number;
  /** Number of payloads of delivered runs that were replaced by markers. */
  readonly truncated: number;
  /** Number of attachments of delivered runs that were replaced by markers. */
  readonly omittedAttachments: number;
}

/**
 * Counts the outcomes that workers wrote into the heads of a tape's records, which are the fixed bytes at their start.
 */
export function countOutcomes(tape: Tape): OutcomeCounts {
  const counts = {
    pending: 0,
    delivered: 0,
    rejected: 0,
    quarantined: 0,
    truncated: 0,
    omittedAttachments: 0,
  };
  for (const [offset, outcome] of readHeads(tape)) {
    if (outcome === outcomeCode.delivered) {
      counts.delivered += 1;
      const withheld = unpackWithheld(tape.bytes[offset + headOffset.withheld] ?? 0);
      counts.truncated += withheld.payloads;
      counts.omittedAttachments += withheld.attachments;
    } else if (outcome === outcomeCode.rejected) {
      counts.rejected += 1;
    } else if (outcome === outcomeCode.quarantined) {
      counts.quarantined += 1;
    } else {
      counts.pending += 1;
    }
  }
  return counts;
}

/** Counts the delivered records that are the start of a run. */
export function countDeliveredStarts(tape: Tape): number {
  let starts = 0;
  for (const [offset, outcome] of readHeads(tape)) {
    const isStart = tape.bytes[offset + headOffset.operation] === operationCode.post;
    starts += isStart && outcome === outcomeCode.delivered ? 1 : 0;
  }
  return starts;
}

/** Whether the outcome of every record is known. */
export function hasAllOutcomes(tape: Tape): boolean {
  for (const [, outcome] of readHeads(tape)) {
    if (outcome === outcomeCode.pending) {
      return false;
    }
  }
  return true;
}

/** Copies the records whose outcome is not known yet into one buffer, one after the other, as they are on the tape. */
export const copyPendingRecords = (tape: Tape): Buffer =>
  copyRecords(tape, (outcome) => outcome === outcomeCode.pending);

/**
 * Copies the undelivered records from byte `start` on. They include rejected and quarantined records, because these are
 * counted and stored as dead letters only when the outcomes of all records of their tape are known.
 */
export const copyUndeliveredRecords = (tape: Tape, start: number): Buffer =>
  copyRecords(tape, (outcome, offset) => outcome !== outcomeCode.delivered && offset >= start);

/** Counts the records in a buffer that contains them one after the other, as a tape does. */
export function countRecords(records: Buffer): number {
  let count = 0;
  for (
    let offset = 0;
    offset < records.length;
    offset += records.readUInt32LE(offset + headOffset.length)
  ) {
    count += 1;
  }
  return count;
}

/** Copies the rejected or the quarantined records, to be stored as dead letters that can be sent again later. */
export const copyDeadRecords = (tape: Tape, outcomeName: "rejected" | "quarantined"): Buffer =>
  copyRecords(tape, (outcome) => outcome === outcomeCode[outcomeName]);

/** Returns the offsets of the records that a worker is converting to JSON, or was converting when it crashed. */
export function findRecordsBeingWritten(tape: Tape): readonly number[] {
  const offsets: number[] = [];
  for (const [offset, outcome] of readHeads(tape)) {
    const isBeingWritten = tape.bytes[offset + headOffset.beingWritten] === writingCode.yes;
    if (isBeingWritten && outcome !== outcomeCode.delivered) {
      offsets.push(offset);
    }
  }
  return offsets;
}

/** Clears the marks of the records that a crashed worker was converting to JSON. */
export function clearWritingMarks(tape: Tape): void {
  for (const offset of findRecordsBeingWritten(tape)) {
    tape.bytes[offset + headOffset.beingWritten] = writingCode.no;
  }
}

/** Returns the offset of a record about halfway between two offsets; `end` if there is only one record between them. */
export function findMiddleRecord(tape: Tape, start: number, end: number): number {
  for (const [offset] of readHeads(tape)) {
    if (offset > start && offset < end && offset >= (start + end) / 2) {
      return offset;
    }
  }
  return findLastRecord(tape, start, end);
}

/** Returns the offset of the last record that begins between two offsets; `end` if no record does. */
function findLastRecord(tape: Tape, start: number, end: number): number {
  let lastOffset = end;
  for (const [offset] of readHeads(tape)) {
    if (offset > start && offset < end) {
      lastOffset = offset;
    }
  }
  return lastOffset;
}

/** Copies the selected records. In the copies the outcome is pending and no worker is marked as writing them. */
function copyRecords(tape: Tape, isSelected: (outcome: number, offset: number) => boolean): Buffer {
  const parts: Buffer[] = [];
  for (const [offset, outcome, length] of readHeads(tape)) {
    if (isSelected(outcome, offset)) {
      parts.push(tape.bytes.subarray(offset, offset + length));
    }
  }
  const copies = Buffer.concat(parts);
  for (
    let offset = 0;
    offset < copies.length;
    offset += copies.readUInt32LE(offset + headOffset.length)
  ) {
    copies[offset + headOffset.outcome] = outcomeCode.pending;
    copies[offset + headOffset.beingWritten] = writingCode.no;
  }
  return copies;
}

/** Iterates over the records' heads: offset, outcome and length of each. */
function* readHeads(tape: Tape): Generator<readonly [number, number, number]> {
  for (let offset = 0; offset < tape.usedBytes;) {
    const length = tape.view.getUint32(offset + headOffset.length, true);
    yield [offset, tape.bytes[offset + headOffset.outcome] ?? 0, length];
    offset += length;
  }
}

import {
  headOffset,
  inHandCode,
  operationCode,
  outcomeCode,
} from "../../model/records/tape-format.ts";
import type { Tape } from "./tape.ts";

/** A tape's records by outcome, as their heads say. */
export interface Tally {
  readonly pending: number;
  readonly delivered: number;
  readonly rejected: number;
  readonly quarantined: number;
  /** Payloads with a marker in their place, in what was delivered. */
  readonly truncated: number;
}

/** Counts the outcomes that a worker wrote into the heads of a tape's records. */
export function tallyOf(tape: Tape): Tally {
  const counts = { pending: 0, delivered: 0, rejected: 0, quarantined: 0, truncated: 0 };
  for (const [at, outcome] of heads(tape)) {
    if (outcome === outcomeCode.delivered) {
      counts.delivered += 1;
      counts.truncated += tape.bytes[at + headOffset.withheld] ?? 0;
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

/** How many runs' starts are among what was delivered. */
export function deliveredStarts(tape: Tape): number {
  let starts = 0;
  for (const [at, outcome] of heads(tape)) {
    const isStart = tape.bytes[at + headOffset.operation] === operationCode.post;
    starts += isStart && outcome === outcomeCode.delivered ? 1 : 0;
  }
  return starts;
}

/** Whether the outcome of every record is known; ends at the first that is not. */
export function isSettled(tape: Tape): boolean {
  for (const [, outcome] of heads(tape)) {
    if (outcome === outcomeCode.pending) {
      return false;
    }
  }
  return true;
}

/** Copies of the records whose outcome is not known, one after another, as on a tape. */
export const pendingBytes = (tape: Tape): Buffer =>
  copiesOf(tape, (outcome) => outcome === outcomeCode.pending);

/**
 * Copies of the records from byte `from` on that the server has not taken: also of those that it refused,
 * which are counted and kept as dead letters only when the outcome of their whole tape is known.
 */
export const undeliveredBytes = (tape: Tape, from: number): Buffer =>
  copiesOf(tape, (outcome, at) => outcome !== outcomeCode.delivered && at >= from);

/** How many records there are, one after another as on a tape. */
export function countRecords(records: Buffer): number {
  let count = 0;
  for (let at = 0; at < records.length; at += records.readUInt32LE(at + headOffset.length)) {
    count += 1;
  }
  return count;
}

/** Copies of the records that were given up one by one, to be sent once more. */
export const droppedBytes = (tape: Tape, as: "rejected" | "quarantined"): Buffer =>
  copiesOf(tape, (outcome) => outcome === outcomeCode[as]);

/** Where the records begin that a worker is writing, or was writing when it died. */
export function takenRecords(tape: Tape): readonly number[] {
  const taken: number[] = [];
  for (const [at, outcome] of heads(tape)) {
    const isTaken = tape.bytes[at + headOffset.inHand] === inHandCode.yes;
    if (isTaken && outcome !== outcomeCode.delivered) {
      taken.push(at);
    }
  }
  return taken;
}

/** Takes its records out of the hands of a worker that died. */
export function putBackAll(tape: Tape): void {
  for (const at of takenRecords(tape)) {
    tape.bytes[at + headOffset.inHand] = inHandCode.no;
  }
}

/** Where a record begins about half way from one to another; `to` where there is but one. */
export function middleOf(tape: Tape, from: number, to: number): number {
  for (const [at] of heads(tape)) {
    if (at > from && at < to && at >= (from + to) / 2) {
      return at;
    }
  }
  return lastOf(tape, from, to);
}

/** Where the last record begins; `to` where it is also the first. */
function lastOf(tape: Tape, from: number, to: number): number {
  let last = to;
  for (const [at] of heads(tape)) {
    if (at > from && at < to) {
      last = at;
    }
  }
  return last;
}

/** The copies begin anew: their outcome is pending, and no worker is marked as writing them. */
function copiesOf(tape: Tape, isWanted: (outcome: number, at: number) => boolean): Buffer {
  const parts: Buffer[] = [];
  for (const [at, outcome, length] of heads(tape)) {
    if (isWanted(outcome, at)) {
      parts.push(tape.bytes.subarray(at, at + length));
    }
  }
  const copies = Buffer.concat(parts);
  for (let at = 0; at < copies.length; at += copies.readUInt32LE(at + headOffset.length)) {
    copies[at + headOffset.outcome] = outcomeCode.pending;
    copies[at + headOffset.inHand] = inHandCode.no;
  }
  return copies;
}

/** Offset, outcome and length of each record. */
function* heads(tape: Tape): Generator<readonly [number, number, number]> {
  for (let at = 0; at < tape.used;) {
    const length = tape.view.getUint32(at + headOffset.length, true);
    yield [at, tape.bytes[at + headOffset.outcome] ?? 0, length];
    at += length;
  }
}

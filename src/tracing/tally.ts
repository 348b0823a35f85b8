import { headOffset, outcomeCode } from "../model/tape-format.ts";
import type { Tape } from "./tape.ts";

/** A tape's records by outcome, as their heads say. */
export interface Tally {
  readonly pending: number;
  readonly delivered: number;
  readonly rejected: number;
  /** Payloads with a marker in their place, in what was delivered. */
  readonly truncated: number;
}

/** Counts the outcomes that a worker wrote into the heads of a tape's records. */
export function tallyOf(tape: Tape): Tally {
  const counts = { pending: 0, delivered: 0, rejected: 0, truncated: 0 };
  for (const [at, outcome] of heads(tape)) {
    if (outcome === outcomeCode.delivered) {
      counts.delivered += 1;
      counts.truncated += tape.bytes[at + headOffset.withheld] ?? 0;
    } else if (outcome === outcomeCode.rejected) {
      counts.rejected += 1;
    } else {
      counts.pending += 1;
    }
  }
  return counts;
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
export const pendingBytes = (tape: Tape): Buffer => copiesOf(tape, outcomeCode.pending);

/** Copies of the records that the server refused, to be sent once more. */
export function rejectedBytes(tape: Tape): Buffer {
  const copies = copiesOf(tape, outcomeCode.rejected);
  for (let at = 0; at < copies.length; at += copies.readUInt32LE(at + headOffset.length)) {
    copies[at + headOffset.outcome] = outcomeCode.pending;
  }
  return copies;
}

function copiesOf(tape: Tape, wanted: number): Buffer {
  const parts: Buffer[] = [];
  for (const [at, outcome, length] of heads(tape)) {
    if (outcome === wanted) {
      parts.push(tape.bytes.subarray(at, at + length));
    }
  }
  return Buffer.concat(parts);
}

/** Offset, outcome and length of each record. */
function* heads(tape: Tape): Generator<readonly [number, number, number]> {
  for (let at = 0; at < tape.used;) {
    const length = tape.view.getUint32(at + headOffset.length, true);
    yield [at, tape.bytes[at + headOffset.outcome] ?? 0, length];
    at += length;
  }
}

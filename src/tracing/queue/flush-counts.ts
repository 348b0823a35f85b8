import type { FlushCount, FlushResult } from "../../model/stats.ts";
import type { TapeCount, TapeResult } from "./shipment.ts";
import { deliveredStarts } from "../tape/tally.ts";
import type { Tape } from "../tape/tape.ts";

/** Counts a tape's runs, once the outcome of each of its records is known. */
export function countOf(tape: Tape, { delivered, lost }: TapeResult): TapeCount {
  // Most tapes arrive whole: those are not walked.
  const runsDelivered = delivered === tape.records ? tape.starts : deliveredStarts(tape);
  return { delivered, lost, runsDelivered, runsLost: tape.starts - runsDelivered };
}

/** A record that found no place on a tape. */
export const lostRecord = (isStart: boolean): TapeCount => ({
  delivered: 0,
  lost: 1,
  runsDelivered: 0,
  runsLost: isStart ? 1 : 0,
});

/** Adds up what became of records and runs. */
export class FlushCounts {
  #delivered = 0;
  #lost = 0;
  #runsDelivered = 0;
  #runsLost = 0;

  add({ delivered, lost, runsDelivered, runsLost }: TapeCount): void {
    this.#delivered += delivered;
    this.#lost += lost;
    this.#runsDelivered += runsDelivered;
    this.#runsLost += runsLost;
  }

  /** The sum, beside the tapes that wait still. */
  result(waiting: readonly Tape[]): FlushResult {
    return {
      delivered: this.#delivered,
      pending: waiting.reduce((sum, { records }) => sum + records, 0),
      lost: this.#lost,
      runs: {
        delivered: this.#runsDelivered,
        pending: waiting.reduce((sum, { starts }) => sum + starts, 0),
        lost: this.#runsLost,
      },
    };
  }
}

/** The sums of several flushes. */
export const sumOfResults = (results: readonly FlushResult[]): FlushResult => ({
  ...sumOf(results),
  runs: sumOf(results.map(({ runs }) => runs)),
});

function sumOf(counts: readonly FlushCount[]): FlushCount {
  let [delivered, pending, lost] = [0, 0, 0];
  for (const one of counts) {
    delivered += one.delivered;
    pending += one.pending;
    lost += one.lost;
  }
  return { delivered, pending, lost };
}

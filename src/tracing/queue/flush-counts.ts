import type { FlushCount, FlushResult } from "../../model/stats.ts";
import type { TapeCount, TapeResult } from "./shipment.ts";
import { countDeliveredStarts } from "../tape/tally.ts";
import type { Tape } from "../tape/tape.ts";

/**
 * Returns the counts of a tape's records, and of the runs that start on it. Call this only when each record has an
 * outcome.
 */
export function toTapeCount(tape: Tape, { delivered, lost }: TapeResult): TapeCount {
  // Most tapes are delivered completely, and then their records need not be iterated.
  const runsDelivered = delivered === tape.records ? tape.starts : countDeliveredStarts(tape);
  return { delivered, lost, runsDelivered, runsLost: tape.starts - runsDelivered };
}

/** How many records there are, and how many of them are the start of a run. */
type RecordCounts = Pick<Tape, "records" | "starts">;

const noRecords: RecordCounts = { records: 0, starts: 0 };

/** Sums how many records and runs of several tapes were delivered and how many were lost. */
export class FlushCounts {
  delivered = 0;
  lost = 0;
  runsDelivered = 0;
  runsLost = 0;

  add({ delivered, lost, runsDelivered, runsLost }: TapeCount): void {
    this.delivered += delivered;
    this.lost += lost;
    this.runsDelivered += runsDelivered;
    this.runsLost += runsLost;
  }

  /**
   * Returns the sums as the result of a flush. The records of the `waiting` tapes, and those of runs that have not
   * ended and are therefore on no tape, are counted as pending.
   */
  toResult(waiting: readonly Tape[], openRuns: RecordCounts = noRecords): FlushResult {
    return {
      delivered: this.delivered,
      pending: waiting.reduce((sum, { records }) => sum + records, openRuns.records),
      lost: this.lost,
      runs: {
        delivered: this.runsDelivered,
        pending: waiting.reduce((sum, { starts }) => sum + starts, openRuns.starts),
        lost: this.runsLost,
      },
    };
  }
}

/** Sums the results of several flushes. */
export const sumResults = (results: readonly FlushResult[]): FlushResult => ({
  ...sumCounts(results),
  runs: sumCounts(results.map(({ runs }) => runs)),
});

function sumCounts(counts: readonly FlushCount[]): FlushCount {
  let [delivered, pending, lost] = [0, 0, 0];
  for (const count of counts) {
    delivered += count.delivered;
    pending += count.pending;
    lost += count.lost;
  }
  return { delivered, pending, lost };
}

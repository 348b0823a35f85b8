import type { Deferred } from "../model/deferred.ts";
import type { FlushResult } from "../model/stats.ts";
import type { Tape } from "./tape.ts";

/** What became of a tape's records. */
export interface TapeResult {
  readonly delivered: number;
  readonly lost: number;
}

/** A tape that was cut, until the outcome of each of its records is known. */
export interface Shipment {
  readonly tape: Tape;
  readonly settled: Deferred<TapeResult>;
}

/**
 * Waits for the outcomes of tapes, at most `timeoutMs`, and adds them up. The timer holds the process:
 * an awaited flush always comes to its end.
 */
export async function awaitShipments(
  shipments: readonly Shipment[],
  timeoutMs: number,
): Promise<FlushResult> {
  const total = shipments.reduce((sum, { tape }) => sum + tape.records, 0);
  let delivered = 0;
  let lost = 0;
  const counted = shipments.map(async ({ settled }) => {
    const result = await settled.promise;
    delivered += result.delivered;
    lost += result.lost;
  });
  let deadline: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    deadline = setTimeout(resolve, timeoutMs);
  });
  await Promise.race([Promise.all(counted), timeout]);
  clearTimeout(deadline);
  return { delivered, pending: total - delivered - lost, lost };
}

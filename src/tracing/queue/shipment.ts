import type { Deferred } from "../../model/deferred.ts";
import type { Tape } from "../tape/tape.ts";

/** What became of a tape's records. */
export interface TapeResult {
  readonly delivered: number;
  readonly lost: number;
}

/** What became of a tape's records, and of the runs that start on it. A run is counted once, by its start. */
export interface TapeCount extends TapeResult {
  readonly runsDelivered: number;
  readonly runsLost: number;
}

/** A tape that was cut, until the outcome of each of its records is known. */
export interface Shipment {
  readonly tape: Tape;
  readonly settled: Deferred<TapeCount>;
  /** How many flushes wait for it, and will report it. */
  awaiting: number;
}

/** What a wait for shipments found. */
export interface Awaited {
  readonly counts: readonly TapeCount[];
  /** Tapes whose outcome was not known when the time was up. */
  readonly waiting: readonly Tape[];
}

/**
 * Waits for the outcomes of tapes, at most `timeoutMs` or until `hopeless` settles. The timer holds the
 * process: an awaited flush always comes to its end.
 */
export async function awaitShipments(
  shipments: readonly Shipment[],
  timeoutMs: number,
  hopeless?: Promise<void>,
): Promise<Awaited> {
  const waiting = new Set(shipments);
  const counts: TapeCount[] = [];
  const settling = shipments.map(async (shipment) => {
    shipment.awaiting += 1;
    const count = await shipment.settled.promise;
    if (waiting.delete(shipment)) {
      counts.push(count);
    }
  });
  let deadline: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    deadline = setTimeout(resolve, timeoutMs);
  });
  await Promise.race([
    Promise.all(settling),
    timeout,
    ...(hopeless === undefined ? [] : [hopeless]),
  ]);
  clearTimeout(deadline);
  const left = [...waiting];
  waiting.clear();
  for (const shipment of left) {
    shipment.awaiting -= 1;
  }
  return { counts: [...counts], waiting: left.map(({ tape }) => tape) };
}

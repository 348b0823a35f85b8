import { Deferred } from "../../model/deferred.ts";
import type { Tape } from "../tape/tape.ts";

/** How many records of a tape (a buffer of recorded runs) were delivered and how many were lost. */
export interface TapeResult {
  readonly delivered: number;
  readonly lost: number;
}

/** The outcomes of a tape's records, and of the runs that start on it. A run is counted once, by its start. */
export interface TapeCount extends TapeResult {
  readonly runsDelivered: number;
  readonly runsLost: number;
}

/** A tape that gets no more records, tracked until the outcome of each of its records is known. */
export interface Shipment {
  readonly tape: Tape;
  /** How many running flushes wait for this tape. They include its counts in their results. */
  waitingFlushes: number;
  /** How many records have each outcome; present once the outcomes are known. */
  count: TapeCount | undefined;
  /** Created only when a caller waits for the outcomes, because a promise for each tape would slow down recording. */
  settlement: Deferred<TapeCount> | undefined;
}

/** The result of waiting for shipments. */
export interface AwaitedShipments {
  /** Counts of the tapes whose outcome became known in time. */
  readonly counts: readonly TapeCount[];
  /** Tapes whose outcome was still unknown when the wait ended. */
  readonly waiting: readonly Tape[];
}

/** Waits until the outcomes of a tape's records are known, and returns their counts. */
export function awaitSettlement(shipment: Shipment): Promise<TapeCount> {
  if (shipment.count !== undefined) {
    return Promise.resolve(shipment.count);
  }
  shipment.settlement ??= new Deferred();
  return shipment.settlement.promise;
}

/**
 * Waits for the outcomes of tapes, at most `timeoutMs` or until `unreachable` resolves. The caller must have
 * incremented the `waitingFlushes` of each tape. The timer is not unref'd: it keeps the process alive, so an awaited
 * flush always returns.
 */
export async function awaitShipments(
  shipments: readonly Shipment[],
  timeoutMs: number,
  unreachable?: Promise<void>,
): Promise<AwaitedShipments> {
  const waiting = new Set(shipments);
  const counts: TapeCount[] = [];
  const settlements = shipments.map(async (shipment) => {
    const count = await awaitSettlement(shipment);
    if (waiting.delete(shipment)) {
      counts.push(count);
    }
  });
  let timeoutTimer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timeoutTimer = setTimeout(resolve, timeoutMs);
  });
  await Promise.race([
    Promise.all(settlements),
    timeout,
    ...(unreachable === undefined ? [] : [unreachable]),
  ]);
  clearTimeout(timeoutTimer);
  const unsettled = [...waiting];
  waiting.clear();
  for (const shipment of unsettled) {
    shipment.waitingFlushes -= 1;
  }
  return { counts: [...counts], waiting: unsettled.map(({ tape }) => tape) };
}

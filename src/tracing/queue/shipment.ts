import { Deferred } from "../../model/deferred.ts";
import type { Tape } from "../tape/tape.ts";

/** How many records of a tape (a buffer of recorded runs) were delivered and how many were lost. */
export interface TapeResult {
  readonly delivered: number;
  readonly lost: number;
}

/**
 * How many of a tape's records were delivered and lost, and how many of the runs that start on it. A run counts as
 * delivered if its start record was delivered.
 */
export interface TapeCount extends TapeResult {
  readonly runsDelivered: number;
  readonly runsLost: number;
}

/**
 * A tape (a buffer of recorded runs) that gets no more records. It is tracked until each of its records has an outcome:
 * delivered or lost.
 */
export interface Shipment {
  readonly tape: Tape;
  /**
   * How many unfinished calls of `flush` wait for this shipment. Each of them adds the shipment's counts to its result.
   */
  waitingFlushes: number;
  /** How many records have each outcome; present once the outcomes are known. */
  count: TapeCount | undefined;
  /** Created only when a caller waits for the outcomes, because a promise for each tape would slow down recording. */
  settlement: Deferred<TapeCount> | undefined;
}

/** The result of waiting for shipments. */
export interface AwaitedShipments {
  /** The counts of each tape whose records all got an outcome in time. */
  readonly counts: readonly TapeCount[];
  /** The tapes with records that still had no outcome when the wait ended. */
  readonly waiting: readonly Tape[];
}

/** Waits until each record of the shipment has an outcome. Returns how many were delivered and how many were lost. */
export function awaitSettlement(shipment: Shipment): Promise<TapeCount> {
  if (shipment.count !== undefined) {
    return Promise.resolve(shipment.count);
  }
  shipment.settlement ??= new Deferred();
  return shipment.settlement.promise;
}

/**
 * Waits until each record of the shipments has an outcome, at most `timeoutMs` or until `unreachable` resolves. Before
 * the call, the caller must increment `waitingFlushes` of each shipment. This function decrements it again for each
 * shipment that still has records without an outcome when the wait ends. The timer is not unref'd: it keeps the process
 * alive, so an awaited flush always returns.
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

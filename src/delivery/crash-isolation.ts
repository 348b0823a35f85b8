import type { ShipReport } from "../model/records/shipping.ts";
import { headOffset, outcomeCode } from "../model/records/tape-format.ts";
import { middleOf, putBackAll, takenRecords } from "../tracing/tape/tally.ts";
import type { Tape } from "../tracing/tape/tape.ts";
import type { TapeShipper } from "../workers/host/pool.ts";

/** A run is quarantined after so many workers crashed while they wrote it. */
const crashesOfRun = 2;
/** After so many unexplained crashes the tape is halved. */
const crashesOfPart = 2;
/** After so many unexplained crashes the tape is dropped: perhaps no worker can run on this machine. */
const crashesOfTape = 24;

export interface CrashIsolationOptions {
  readonly shipper: TapeShipper;
  /** Identifies the tape in a worker's message that an attempt failed. */
  readonly tapeId: number;
  /** Tapes that were with a worker; one of them may explain its death. */
  readonly inFlight: ReadonlySet<Tape>;
  /** Waits before the tape is sent again. */
  readonly pause: () => Promise<void>;
  /** Nothing is sent any more. */
  readonly hasEnded: () => boolean;
}

interface Part {
  readonly from: number;
  readonly to: number;
}

/**
 * Sends one tape and isolates the runs that crash workers. A worker marks on the tape which run it is
 * writing, so that the run is known after a crash. That run is sent once more, alone and last, and is
 * quarantined when a second worker crashes with it. After two crashes that no tape explains, this tape is
 * halved: reading all of it may need more memory than a worker has. Delivered records are never sent again.
 */
export class CrashIsolation {
  readonly #tape: Tape;
  readonly #options: CrashIsolationOptions;
  readonly #crashesByRecord = new Map<number, number>();
  #unexplained = 0;
  /** Whether a worker crashed with the tape. The reports are then incomplete. */
  hasSeenCrash = false;

  constructor(tape: Tape, options: CrashIsolationOptions) {
    this.#tape = tape;
    this.#options = options;
  }

  /** The report of the last worker; `undefined` if the tape is dropped. */
  send(): Promise<ShipReport | undefined> {
    return this.#send({ from: 0, to: this.#tape.used });
  }

  async #send(part: Part): Promise<ShipReport | undefined> {
    const { shipper, tapeId, pause, hasEnded } = this.#options;
    const { memory } = this.#tape;
    let crashes = 0;
    for (;;) {
      const suspectRecords = [...this.#crashesByRecord.keys()];
      try {
        return await shipper.ship({
          tapeId,
          memory,
          used: part.to,
          from: part.from,
          suspectRecords,
        });
      } catch {
        // The worker died, or could not read the tape; the tape in our memory is intact.
        this.hasSeenCrash = true;
      }
      if (hasEnded()) {
        return undefined;
      }
      if (!this.#recordCrash() && !this.#isExplainedByOtherTape()) {
        crashes += 1;
        this.#unexplained += 1;
      }
      await pause();
      putBackAll(this.#tape);
      if (hasEnded() || this.#unexplained >= crashesOfTape) {
        return undefined;
      }
      if (crashes >= crashesOfPart) {
        return this.#sendHalves(part);
      }
    }
  }

  async #sendHalves({ from, to }: Part): Promise<ShipReport | undefined> {
    const middle = middleOf(this.#tape, from, to);
    if (middle === to) {
      return undefined;
    }
    const first = await this.#send({ from, to: middle });
    const second = this.#options.hasEnded() ? undefined : await this.#send({ from: middle, to });
    return first === undefined || second === undefined ? undefined : joined(first, second);
  }

  /** Counts a death against the records that the worker was writing; false where it wrote none of ours. */
  #recordCrash(): boolean {
    const { bytes } = this.#tape;
    const taken = takenRecords(this.#tape);
    for (const at of taken) {
      const crashes = (this.#crashesByRecord.get(at) ?? 0) + 1;
      this.#crashesByRecord.set(at, crashes);
      if (crashes >= crashesOfRun) {
        bytes[at + headOffset.outcome] = outcomeCode.quarantined;
        this.#crashesByRecord.delete(at);
      }
    }
    return taken.length > 0;
  }

  /** Whether the worker was writing a run of another tape. Those marks stay until that tape is sent again. */
  #isExplainedByOtherTape(): boolean {
    return [...this.#options.inFlight].some(
      (tape) => tape !== this.#tape && takenRecords(tape).length > 0,
    );
  }
}

/** What became of two parts of a tape. */
function joined(one: ShipReport, other: ShipReport): ShipReport {
  const reason = other.reason ?? one.reason;
  return {
    ...other,
    delivered: one.delivered + other.delivered,
    refused: [...one.refused, ...other.refused],
    undelivered: one.undelivered + other.undelivered,
    away: one.away && other.away,
    requests: one.requests + other.requests,
    retries: one.retries + other.retries,
    bytes: one.bytes + other.bytes,
    redacted: {
      masked: (one.redacted?.masked ?? 0) + (other.redacted?.masked ?? 0),
      failed: (one.redacted?.failed ?? 0) + (other.redacted?.failed ?? 0),
    },
    ...(reason === undefined ? {} : { reason }),
  };
}

import type { ShipReport } from "../model/records/shipping.ts";
import { headOffset, outcomeCode } from "../model/records/tape-format.ts";
import { middleOf, putBackAll, takenRecords } from "../tracing/tape/tally.ts";
import type { Tape } from "../tracing/tape/tape.ts";
import type { TapeShipper } from "../workers/host/pool.ts";

/** A run that so many workers died with as they wrote it is set aside. */
const crashesOfRun = 2;
/** Of so many deaths that nothing explains, the tape is halved. */
const crashesOfPart = 2;
/** Of so many it is given up: it may well be that no worker can live here. */
const crashesOfTape = 24;

export interface CrashIsolationOptions {
  readonly shipper: TapeShipper;
  /** Names the tape where a worker posts that a try of it failed. */
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
 * One tape on its way past workers that die with it. A worker says on the tape which run it writes, so
 * that the run it died with is known: that one is sent once more, alone and last, and set aside when it
 * takes a second worker with it. A death that no tape explains twice has this one halved: its reading
 * may be more than a worker can hold. What arrived is never sent again.
 */
export class CrashIsolation {
  readonly #tape: Tape;
  readonly #options: CrashIsolationOptions;
  readonly #crashesByRecord = new Map<number, number>();
  #unexplained = 0;
  /** Whether a worker died with it; its reports then do not say all. */
  hasSeenCrash = false;

  constructor(tape: Tape, options: CrashIsolationOptions) {
    this.#tape = tape;
    this.#options = options;
  }

  /** What the last worker said of the records that it was the last to have; none if the tape is given up. */
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
        // The worker died, or could not read the tape, which is ours and whole.
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

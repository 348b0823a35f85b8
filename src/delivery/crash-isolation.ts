import type { ShipReport, TapeShipper } from "../model/records/shipping.ts";
import { headOffset, outcomeCode } from "../model/records/tape-format.ts";
import {
  findMiddleRecord,
  clearWritingMarks,
  findRecordsBeingWritten,
} from "../tracing/tape/tally.ts";
import type { Tape } from "../tracing/tape/tape.ts";

/**
 * Number of workers that may crash while they write the same run. After the last of them, the run is quarantined: it is
 * not sent again.
 */
const maxCrashesOfRun = 2;
/**
 * A range is the part of the tape (the buffer of recorded runs) that a worker sends. If this many workers crash with the
 * same range, but not while they write one of its runs, the halves of the range are sent one after the other, to find
 * the cause.
 */
const maxCrashesOfRange = 2;
/**
 * If this many workers crash with a tape, but not while they write one of its runs, the tape is not sent any more:
 * perhaps no worker can run on this machine.
 */
const maxCrashesOfTape = 24;

/** Options of {@link CrashIsolation}. */
export interface CrashIsolationOptions {
  readonly shipper: TapeShipper;
  /** Identifies the tape in a worker's notice of a failed attempt. */
  readonly tapeId: number;
  /**
   * Tapes that are being sent. If a worker crashed while it wrote a run of one of them, that run explains the crash.
   */
  readonly inFlight: ReadonlySet<Tape>;
  /** Called before the tape is sent again. Resolves after a pause. */
  readonly pause: () => Promise<void>;
  /** Returns whether the client was closed and sends no more requests. */
  readonly hasEnded: () => boolean;
}

/** A range of bytes on the tape. */
interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Sends one tape, a buffer of recorded runs, and isolates the runs that crash workers. A worker marks on the tape which
 * run it is writing, so that the run is known after a crash. That run is sent once more, alone and last, and is
 * quarantined when a second worker crashes with it. After two crashes for which no tape has a mark, this tape is sent
 * in two halves, because reading all of it may need more memory than a worker has. Delivered records are never sent
 * again.
 */
export class CrashIsolation {
  readonly #tape: Tape;
  readonly #options: CrashIsolationOptions;
  readonly #crashesByRecord = new Map<number, number>();
  #unexplainedCrashes = 0;

  constructor(tape: Tape, options: CrashIsolationOptions) {
    this.#tape = tape;
    this.#options = options;
  }

  /**
   * Sends the tape. Returns the worker's report, merged from several if the tape was split. Returns `undefined` if the
   * client was closed, or if workers crashed too often.
   */
  send(): Promise<ShipReport | undefined> {
    return this.#send({ start: 0, end: this.#tape.usedBytes });
  }

  async #send(part: ByteRange): Promise<ShipReport | undefined> {
    const { shipper, tapeId, pause, hasEnded } = this.#options;
    const { memory } = this.#tape;
    let rangeCrashes = 0;
    for (;;) {
      const suspectRecords = [...this.#crashesByRecord.keys()];
      try {
        return await shipper.ship({
          tapeId,
          memory,
          usedBytes: part.end,
          from: part.start,
          suspectRecords,
        });
      } catch {
        // The worker crashed or could not read the tape. The tape in the memory of this thread is intact.
      }
      if (hasEnded()) {
        return undefined;
      }
      if (!this.#recordCrash() && !this.#isExplainedByOtherTape()) {
        rangeCrashes += 1;
        this.#unexplainedCrashes += 1;
      }
      await pause();
      clearWritingMarks(this.#tape);
      if (hasEnded() || this.#unexplainedCrashes >= maxCrashesOfTape) {
        return undefined;
      }
      if (rangeCrashes >= maxCrashesOfRange) {
        return this.#sendHalves(part);
      }
    }
  }

  async #sendHalves({ start, end }: ByteRange): Promise<ShipReport | undefined> {
    const middle = findMiddleRecord(this.#tape, start, end);
    if (middle === end) {
      return undefined;
    }
    const firstReport = await this.#send({ start, end: middle });
    const secondReport = this.#options.hasEnded()
      ? undefined
      : await this.#send({ start: middle, end });
    return firstReport === undefined || secondReport === undefined
      ? undefined
      : mergeReports(firstReport, secondReport);
  }

  /**
   * Counts a crash for each record that the worker was writing. Returns false if it was writing no
   * record of this tape.
   */
  #recordCrash(): boolean {
    const { bytes } = this.#tape;
    const suspectOffsets = findRecordsBeingWritten(this.#tape);
    for (const offset of suspectOffsets) {
      const crashes = (this.#crashesByRecord.get(offset) ?? 0) + 1;
      this.#crashesByRecord.set(offset, crashes);
      if (crashes >= maxCrashesOfRun) {
        bytes[offset + headOffset.outcome] = outcomeCode.quarantined;
        this.#crashesByRecord.delete(offset);
      }
    }
    return suspectOffsets.length > 0;
  }

  /**
   * Whether the worker was writing a run of another tape when it crashed. The marks on the other tape stay until that
   * tape is sent again.
   */
  #isExplainedByOtherTape(): boolean {
    return [...this.#options.inFlight].some(
      (tape) => tape !== this.#tape && findRecordsBeingWritten(tape).length > 0,
    );
  }
}

/** Combines the reports on two parts of the tape. */
function mergeReports(firstReport: ShipReport, secondReport: ShipReport): ShipReport {
  const reason = secondReport.reason ?? firstReport.reason;
  const server = secondReport.server ?? firstReport.server;
  const existing = (firstReport.existing ?? 0) + (secondReport.existing ?? 0);
  const truncated = (firstReport.truncated ?? 0) + (secondReport.truncated ?? 0);
  const omittedAttachments =
    (firstReport.omittedAttachments ?? 0) + (secondReport.omittedAttachments ?? 0);
  const quarantined = (firstReport.quarantined ?? 0) + (secondReport.quarantined ?? 0);
  const redacted = firstReport.redacted ?? secondReport.redacted;
  const warning = secondReport.warning ?? firstReport.warning;
  return {
    delivered: firstReport.delivered + secondReport.delivered,
    refused: [...firstReport.refused, ...secondReport.refused],
    undelivered: firstReport.undelivered + secondReport.undelivered,
    isServerUnavailable: firstReport.isServerUnavailable && secondReport.isServerUnavailable,
    requests: firstReport.requests + secondReport.requests,
    retries: firstReport.retries + secondReport.retries,
    bytes: firstReport.bytes + secondReport.bytes,
    ...(existing === 0 ? {} : { existing }),
    ...(truncated === 0 ? {} : { truncated }),
    ...(omittedAttachments === 0 ? {} : { omittedAttachments }),
    ...(quarantined === 0 ? {} : { quarantined }),
    ...(redacted === undefined
      ? {}
      : {
          redacted: {
            maskedMatches:
              (firstReport.redacted?.maskedMatches ?? 0) +
              (secondReport.redacted?.maskedMatches ?? 0),
            failedRecords:
              (firstReport.redacted?.failedRecords ?? 0) +
              (secondReport.redacted?.failedRecords ?? 0),
          },
        }),
    ...(reason === undefined ? {} : { reason }),
    ...(warning === undefined ? {} : { warning }),
    ...(server === undefined ? {} : { server }),
  };
}

import { lossReasons } from "../../model/stats.ts";
import type { LossReason } from "../../model/stats.ts";
import type { TapeResult } from "./shipment.ts";
import { assertStackRoom, uncounted } from "./stack-room.ts";
import type { Tape } from "../tape/tape.ts";

/** Why a part of a field was left out: the client's limit of a field, or the server's of a run. */
export type CutReason = "field" | "run";

/**
 * Counts what became of every record. A record is accepted once, and then delivered, spooled or lost
 * once; what is neither yet is pending.
 */
export class Ledger {
  accepted = 0;
  delivered = 0;
  spooled = 0;
  sampledOut = 0;
  bytesRecorded = 0;
  /** Fields of which a part was left out, for their size. */
  truncated = 0;
  /** Places that rules masked. */
  redacted = 0;
  readonly lost: Record<LossReason, number> = noLosses();
  readonly warnings = new Map<string, number>();
  readonly #onLoss: (reason: LossReason, records: number) => void;
  readonly #onCut: (why: CutReason) => void;

  /** Calls `onLoss` for every loss as it is counted, and `onCut` for fields that were cut. */
  constructor(
    onLoss: (reason: LossReason, records: number) => void,
    onCut: (why: CutReason) => void = () => undefined,
  ) {
    this.#onLoss = onLoss;
    this.#onCut = onCut;
  }

  /** A record was made of so many bytes; so many of its fields were cut. */
  record(bytes: number, cutFields: number): void {
    this.bytesRecorded += bytes;
    this.cut("field", cutFields);
  }

  /** A part of so many fields was left out. */
  cut(why: CutReason, fields: number): void {
    if (fields > 0) {
      this.truncated += fields;
      try {
        this.#onCut(why);
      } catch {
        // The stack is exhausted, as in `lose`.
      }
    }
  }

  /** Throws only on an exhausted stack, and has then counted nothing. */
  lose(reason: LossReason, records: number): void {
    if (records > 0) {
      this.lost[reason] += records;
      try {
        this.#onLoss(reason, records);
      } catch {
        // The stack is exhausted. The loss is counted; the next loss for this reason logs both.
      }
    }
  }

  /** Adds to the counters what an exhausted stack kept from being counted. */
  flushUncounted(): void {
    const { records, details } = uncounted;
    if (records > 0 || details > 0) {
      assertStackRoom();
      uncounted.records = 0;
      uncounted.details = 0;
      this.accepted += records;
      this.lose("unencodable", records);
      this.warnings.set("hiddenFailure", (this.warnings.get("hiddenFailure") ?? 0) + details);
    }
  }

  /** Records that were counted as spooled are to be counted otherwise. */
  unspool(records: number): void {
    this.spooled -= records;
  }

  /** Loses a whole tape to the queue's bound. */
  drop({ records, journal }: Tape): TapeResult {
    journal?.discard();
    this.lose("queueFull", records);
    return { delivered: 0, lost: records };
  }

  warn(kind: string): void {
    this.warnings.set(kind, (this.warnings.get(kind) ?? 0) + 1);
  }

  get totalLost(): number {
    return Object.values(this.lost).reduce((sum, count) => sum + count, 0);
  }
}

const noLosses = (): Record<LossReason, number> => {
  const losses: Partial<Record<LossReason, number>> = {};
  for (const reason of lossReasons) {
    losses[reason] = 0;
  }
  return losses as Record<LossReason, number>;
};

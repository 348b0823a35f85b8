import { lossReasons } from "../model/stats.ts";
import type { LossReason } from "../model/stats.ts";
import type { TapeResult } from "./shipment.ts";
import type { Tape } from "./tape.ts";

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

  /** `onLoss` hears of every loss as it is counted. */
  constructor(onLoss: (reason: LossReason, records: number) => void) {
    this.#onLoss = onLoss;
  }

  /** A record was made of so many bytes; so many of its fields were cut. */
  record(bytes: number, cutFields: number): void {
    this.bytesRecorded += bytes;
    this.truncated += cutFields;
  }

  lose(reason: LossReason, records: number): void {
    if (records > 0) {
      this.lost[reason] += records;
      this.#onLoss(reason, records);
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

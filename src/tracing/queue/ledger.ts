import { lossReasons } from "../../model/stats.ts";
import type { LossReason } from "../../model/stats.ts";
import type { TapeResult } from "./shipment.ts";
import { assertStackRoom, uncounted } from "./stack-room.ts";
import type { Tape } from "../tape/tape.ts";

/** Which limit caused a field to be truncated: the client's limit for a field, or the server's limit for a run. */
export type CutReason = "field" | "run";

/**
 * Counts the outcome of every record. A record is accepted once, and later delivered, spooled or lost
 * exactly once. An accepted record without an outcome is pending.
 */
export class Ledger {
  accepted = 0;
  delivered = 0;
  spooled = 0;
  sampledOut = 0;
  bytesRecorded = 0;
  /** Number of fields that were truncated because they were too large. */
  truncated = 0;
  /** Number of matches that redaction rules masked. */
  redacted = 0;
  readonly lost: Record<LossReason, number> = noLosses();
  readonly warnings = new Map<string, number>();
  readonly #onLoss: (reason: LossReason, records: number) => void;
  readonly #onCut: (reason: CutReason) => void;

  /** Calls `onLoss` for every loss when it is counted, and `onCut` when fields were truncated. */
  constructor(
    onLoss: (reason: LossReason, records: number) => void,
    onCut: (reason: CutReason) => void = () => undefined,
  ) {
    this.#onLoss = onLoss;
    this.#onCut = onCut;
  }

  /** Counts an encoded record by its size and by the number of its fields that were truncated. */
  record(bytes: number, cutFields: number): void {
    this.bytesRecorded += bytes;
    this.cut("field", cutFields);
  }

  /** Counts truncated fields. */
  cut(reason: CutReason, fields: number): void {
    if (fields > 0) {
      this.truncated += fields;
      try {
        this.#onCut(reason);
      } catch {
        // The stack is exhausted, as in `lose`.
      }
    }
  }

  /** Counts lost records. It throws only if the stack is exhausted, and then it has counted nothing. */
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

  /** Adds the records and details that could not be counted earlier because the stack was exhausted. */
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

  /** Takes back the count of spooled records, which the caller then counts with another outcome. */
  unspool(records: number): void {
    this.spooled -= records;
  }

  /** Discards a whole tape because the queue is full, and counts its records as lost. */
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

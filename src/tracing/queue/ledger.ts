import { lossReasons } from "../../model/stats.ts";
import type { LossReason } from "../../model/stats.ts";
import type { Tape } from "../tape/tape.ts";

/**
 * What was lost in calls that the program made when its call stack was exhausted. This is a plain object, because with
 * an exhausted stack a program can still increment a field, but not call a function. Later, one of the process's
 * clients adds these numbers to its own counts.
 */
export const uncountedLosses = {
  /** How many starts and ends of runs were lost. */
  records: 0,
  /** How many other calls had no effect: additions to runs, and calls that set the current run. */
  details: 0,
};

/**
 * What was truncated or left out: a field that exceeded the client's limit, fields of a run that exceeded the server's
 * limit, or an attachment. The text that replaces an attachment gives the reason.
 */
export type TruncationReason = "field" | "run" | "attachment";

/**
 * Counts the outcome of every record (the start or the end of a run). A record is accepted once, and later delivered,
 * spooled or lost exactly once. An accepted record without an outcome is pending.
 */
export class Ledger {
  accepted = 0;
  delivered = 0;
  spooled = 0;
  sampledOut = 0;
  bytesRecorded = 0;
  /**
   * Number of fields that were truncated or left out because they were too large, and of attachments that were left
   * out.
   */
  truncated = 0;
  /** Number of matches that redaction rules masked. */
  redacted = 0;
  readonly lost: Record<LossReason, number> = createLossCounts();
  readonly warnings = new Map<string, number>();
  readonly #onLoss: (reason: LossReason, records: number) => void;
  readonly #onTruncation: (reason: TruncationReason) => void;

  /** Calls `onLoss` before each loss is counted, and `onTruncation` before truncated fields are counted. */
  constructor(
    onLoss: (reason: LossReason, records: number) => void,
    onTruncation: (reason: TruncationReason) => void = () => undefined,
  ) {
    this.#onLoss = onLoss;
    this.#onTruncation = onTruncation;
  }

  countTruncated(reason: TruncationReason, fields: number): void {
    if (fields > 0) {
      this.#onTruncation(reason);
      this.truncated += fields;
    }
  }

  /** Counts lost records. The count is the last step: if this throws, nothing was counted. */
  countLost(reason: LossReason, records: number): void {
    if (records > 0) {
      this.#onLoss(reason, records);
      this.lost[reason] += records;
    }
  }

  /** Adds {@link uncountedLosses} to the counts of this client, and resets them to zero. */
  countUncountedLosses(): void {
    const { records, details } = uncountedLosses;
    if (records > 0) {
      this.countLost("unencodable", records);
      this.accepted += records;
      uncountedLosses.records = 0;
    }
    if (details > 0) {
      this.warnings.set("hiddenFailure", (this.warnings.get("hiddenFailure") ?? 0) + details);
      uncountedLosses.details = 0;
    }
  }

  /** Subtracts records from the count of spooled ones. The caller then counts them with another outcome. */
  subtractSpooled(records: number): void {
    this.spooled -= records;
  }

  /** Discards a whole tape (a buffer of records) because the queue is full, and counts its records as lost. */
  dropTape({ records, journal }: Tape): void {
    journal?.discard();
    this.countLost("queueFull", records);
  }

  countWarning(kind: string): void {
    this.warnings.set(kind, (this.warnings.get(kind) ?? 0) + 1);
  }

  get totalLost(): number {
    return Object.values(this.lost).reduce((sum, count) => sum + count, 0);
  }
}

const createLossCounts = (): Record<LossReason, number> => {
  const losses: Partial<Record<LossReason, number>> = {};
  for (const reason of lossReasons) {
    losses[reason] = 0;
  }
  return losses as Record<LossReason, number>;
};

import { lossReasons } from "../../model/stats.ts";
import type { LossReason } from "../../model/stats.ts";
import type { Tape } from "../tape/tape.ts";

/**
 * What was lost in calls that the program made when its call stack was exhausted. A plain object, because incrementing a
 * field is all that is still possible there. One of the process's clients adds it to its own counts later.
 */
export const uncounted = {
  /** Starts and ends of runs. */
  records: 0,
  /** Additions to a run, and contexts that were not entered. */
  details: 0,
};

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

  /** Calls `onLoss` before each loss is counted, and `onCut` before truncated fields are. */
  constructor(
    onLoss: (reason: LossReason, records: number) => void,
    onCut: (reason: CutReason) => void = () => undefined,
  ) {
    this.#onLoss = onLoss;
    this.#onCut = onCut;
  }

  /** Counts truncated fields. */
  cut(reason: CutReason, fields: number): void {
    if (fields > 0) {
      this.#onCut(reason);
      this.truncated += fields;
    }
  }

  /** Counts lost records. The count is the last step: if this throws, nothing was counted. */
  lose(reason: LossReason, records: number): void {
    if (records > 0) {
      this.#onLoss(reason, records);
      this.lost[reason] += records;
    }
  }

  /** Takes over {@link uncounted}. */
  flushUncounted(): void {
    const { records, details } = uncounted;
    if (records > 0) {
      this.lose("unencodable", records);
      this.accepted += records;
      uncounted.records = 0;
    }
    if (details > 0) {
      this.warnings.set("hiddenFailure", (this.warnings.get("hiddenFailure") ?? 0) + details);
      uncounted.details = 0;
    }
  }

  /** Takes back the count of spooled records, which the caller then counts with another outcome. */
  unspool(records: number): void {
    this.spooled -= records;
  }

  /** Discards a whole tape because the queue is full, and counts its records as lost. */
  drop({ records, journal }: Tape): void {
    journal?.discard();
    this.lose("queueFull", records);
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

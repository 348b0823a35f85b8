import { messageOf } from "../model/errors.ts";
import type { AuditWrites } from "./audit.ts";
import { auditLimits } from "./audit.ts";

/** The part of the store that the pruner uses. */
export interface PrunedStore {
  readonly write: { readonly audit: Pick<AuditWrites, "removeExpired"> };
}

/** When and how fast the pruner works. */
export interface PrunerTimes {
  /** Milliseconds from the server's start to the first pruning. */
  readonly firstMs: number;
  /** Milliseconds from one pruning to the next. */
  readonly intervalMs: number;
  /** Milliseconds between the steps of a pruning, during which the writer serves other requests. */
  readonly pauseMs: number;
}

const defaultTimes: PrunerTimes = { firstMs: 60_000, intervalMs: 3_600_000, pauseMs: 200 };

const dayMs = 86_400_000;

/** Deletes expired entries of the audit log, in small steps. The timer does not keep the process alive. */
export class AuditPruner {
  readonly #store: PrunedStore;
  readonly #days: number;
  readonly #times: PrunerTimes;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(store: PrunedStore, days: number, times: PrunerTimes = defaultTimes) {
    this.#store = store;
    this.#days = days;
    this.#times = times;
    this.#schedule(times.firstMs);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #schedule(delayMs: number): void {
    if (!this.#isClosed) {
      this.#timer = setTimeout(() => void this.#step(), delayMs);
      this.#timer.unref();
    }
  }

  async #step(): Promise<void> {
    const { intervalMs, pauseMs } = this.#times;
    try {
      const beforeMicros = (Date.now() - this.#days * dayMs) * 1_000;
      const count = await this.#store.write.audit.removeExpired(beforeMicros);
      this.#schedule(count < auditLimits.prunedPerStep ? intervalMs : pauseMs);
    } catch (cause) {
      // The disk may be full, or the writer thread may have ended. The next attempt follows.
      process.emitWarning(
        `expired entries of the audit log could not be deleted, next attempt in ${intervalMs / 60_000} minutes: ${messageOf(cause)}`,
      );
      this.#schedule(intervalMs);
    }
  }
}

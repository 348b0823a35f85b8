import type { SenderReport } from "millrace/model";

/** A report, and when it came: milliseconds since the epoch. */
export interface Sender extends SenderReport {
  readonly atMs: number;
}

/** A sender that is silent for so long is forgotten. */
const senderMs = 60_000;
/** Senders of all tenants that are remembered at once. */
const sendersMax = 500;

/** The last report of each sender, in memory. */
export class Senders {
  /** By tenant and id, in the order of the reports. */
  readonly #senders = new Map<string, { tenantId: string; sender: Sender }>();
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  report(tenantId: string, report: SenderReport): void {
    const key = `${tenantId}/${report.id}`;
    this.#senders.delete(key);
    this.#senders.set(key, { tenantId, sender: { ...report, atMs: this.#now() } });
    const [oldest] = this.#senders.keys();
    if (this.#senders.size > sendersMax && oldest !== undefined) {
      this.#senders.delete(oldest);
    }
  }

  /** Those that reported within the last minute, in the order of their reports. */
  list(tenantId: string): readonly Sender[] {
    const since = this.#now() - senderMs;
    for (const [key, { sender }] of this.#senders) {
      if (sender.atMs < since) {
        this.#senders.delete(key);
      }
    }
    return [...this.#senders.values()]
      .filter((one) => one.tenantId === tenantId)
      .map(({ sender }) => sender);
  }
}

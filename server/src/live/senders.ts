import type { SenderReport } from "millrace/model";

/** The last report of an SDK client, and when it arrived in milliseconds since the epoch. */
export interface Sender extends SenderReport {
  readonly atMs: number;
}

/** Milliseconds after which a client that no longer reports is removed. */
const expiryMs = 60_000;
/** Maximum number of clients in memory, over all tenants. */
const maxSenders = 500;

/** The last report of each SDK client ("sender"), in memory. */
export class Senders {
  /** Keyed by tenant and id, in the order of the reports. */
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
    if (this.#senders.size > maxSenders && oldest !== undefined) {
      this.#senders.delete(oldest);
    }
  }

  /** The clients that reported within the last minute, in the order of their reports. */
  list(tenantId: string): readonly Sender[] {
    const since = this.#now() - expiryMs;
    for (const [key, { sender }] of this.#senders) {
      if (sender.atMs < since) {
        this.#senders.delete(key);
      }
    }
    return [...this.#senders.values()]
      .filter((entry) => entry.tenantId === tenantId)
      .map(({ sender }) => sender);
  }
}

import type { StatsReport } from "millrace/model";

/** The last report of an SDK client. */
export interface SdkClient extends StatsReport {
  /** When the report arrived, in milliseconds since the epoch. */
  readonly atMs: number;
}

/** Milliseconds after which a client that no longer reports is removed. */
const expiryMs = 60_000;
/** Maximum number of clients in memory, over all tenants. */
const maxClients = 500;

/** Keeps the last report of each SDK client in memory. The wire format calls an SDK client a sender. */
export class SdkClients {
  /** Keyed by tenant and id, in the order of the reports. */
  readonly #clients = new Map<string, { tenantId: string; client: SdkClient }>();
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  report(tenantId: string, report: StatsReport): void {
    const key = `${tenantId}/${report.id}`;
    this.#clients.delete(key);
    this.#clients.set(key, { tenantId, client: { ...report, atMs: this.#now() } });
    const [oldest] = this.#clients.keys();
    if (this.#clients.size > maxClients && oldest !== undefined) {
      this.#clients.delete(oldest);
    }
  }

  /** The clients that reported within the last minute, in the order of their reports. */
  list(tenantId: string): readonly SdkClient[] {
    const oldestMs = this.#now() - expiryMs;
    for (const [key, { client }] of this.#clients) {
      if (client.atMs < oldestMs) {
        this.#clients.delete(key);
      }
    }
    return [...this.#clients.values()]
      .filter((entry) => entry.tenantId === tenantId)
      .map(({ client }) => client);
  }
}

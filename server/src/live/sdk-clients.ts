import type { StatsReport } from "millrace/model";

/** The last report of an SDK client, and when it arrived in milliseconds since the epoch. */
export interface SdkClient extends StatsReport {
  readonly atMs: number;
}

/** Milliseconds after which a client that no longer reports is removed. */
const expiryMs = 60_000;
/** Maximum number of clients in memory, over all tenants. */
const maxClients = 500;

/** The last report of each SDK client, which the wire calls a sender, in memory. */
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
    const since = this.#now() - expiryMs;
    for (const [key, { client }] of this.#clients) {
      if (client.atMs < since) {
        this.#clients.delete(key);
      }
    }
    return [...this.#clients.values()]
      .filter((entry) => entry.tenantId === tenantId)
      .map(({ client }) => client);
  }
}

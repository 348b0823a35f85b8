import { randomUUID } from "node:crypto";
import { messageOf } from "../model/errors.ts";
import type { IngestCountReads, IngestCountWrites } from "./ingest-counts.ts";

/** The part of the store that counts what tenants send. */
export interface IngestCountStore {
  readonly read: { readonly ingestCounts: IngestCountReads };
  readonly write: { readonly ingestCounts: IngestCountWrites };
}

/** Options of {@link DailyIngest}. */
export interface DailyIngestOptions {
  /** Milliseconds since the Unix epoch. */
  readonly nowMs?: () => number;
  /** Milliseconds from one exchange of counts with the database to the next. @defaultValue 5,000 */
  readonly intervalMs?: number;
}

const defaultIntervalMs = 5_000;

/** What is known of the bytes that a tenant has sent today. */
interface TenantCount {
  /** What all other servers have stored, and earlier processes of this one, when it was last read. */
  others: number;
  /** What this server has counted. */
  ownCount: number;
  /** What of it is in the database, as far as this is known. */
  stored: number;
  /** Whether the tenant has sent a request since the last exchange. */
  isActive: boolean;
  /** Resolves once the stored count was read, or could not be read. */
  loaded: Promise<void> | undefined;
}

/**
 * Counts the bytes that each tenant sends in a day (UTC). Every few seconds, each server stores its own count and reads the
 * sum of all. A server stores what it has counted altogether, not what was added, so nothing counts twice if the
 * connection to the database is lost during a commit, whose result is then unknown. A crash loses what was counted since
 * the last exchange, and no other server knows of it before.
 */
export class DailyIngest {
  /** Identifies the count of this process among those of others. */
  readonly #server = randomUUID();
  readonly #store: IngestCountStore;
  readonly #nowMs: () => number;
  readonly #timer: NodeJS.Timeout;
  #day = "";
  #counts = new Map<string, TenantCount>();
  #exchange: Promise<void> = Promise.resolve();
  /** Whether the last exchange failed. Of several failures in a row, only the first is reported. */
  #hasFailed = false;

  constructor(
    store: IngestCountStore,
    { nowMs = Date.now, intervalMs = defaultIntervalMs }: DailyIngestOptions = {},
  ) {
    this.#store = store;
    this.#nowMs = nowMs;
    this.#timer = setInterval(() => void this.exchange(), intervalMs);
    this.#timer.unref();
  }

  /** Returns the bytes of today, as far as they are known. The first call for a tenant reads them. */
  async read(tenantId: string): Promise<number> {
    const count = this.#countOf(tenantId);
    count.isActive = true;
    await count.loaded;
    return count.others + count.ownCount;
  }

  add(tenantId: string, bytes: number): void {
    const count = this.#countOf(tenantId);
    count.isActive = true;
    count.ownCount += bytes;
  }

  /** Stores what this server has counted, and reads what others have. */
  exchange(): Promise<void> {
    this.#exchange = this.#exchange.then(() => this.#exchangeAll());
    return this.#exchange;
  }

  /** Stores the last counts. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.exchange();
  }

  #countOf(tenantId: string): TenantCount {
    const day = new Date(this.#nowMs()).toISOString().slice(0, dayChars);
    if (day !== this.#day) {
      this.#day = day;
      this.#counts = new Map();
    }
    const existing = this.#counts.get(tenantId);
    if (existing !== undefined) {
      return existing;
    }
    const load = async (): Promise<void> => {
      try {
        const bytes = await this.#store.read.ingestCounts.read(tenantId, day);
        // An exchange that has ended meanwhile knows more.
        count.others = Math.max(count.others, bytes - count.stored);
      } catch (cause) {
        // While the database can't be reached, this server still counts what it receives.
        this.#report(cause);
      }
    };
    const count: TenantCount = {
      others: 0,
      ownCount: 0,
      stored: 0,
      isActive: true,
      loaded: undefined,
    };
    this.#counts.set(tenantId, count);
    count.loaded = load();
    return count;
  }

  async #exchangeAll(): Promise<void> {
    const day = this.#day;
    for (const [tenantId, count] of this.#counts) {
      if (!count.isActive) {
        continue;
      }
      const { ownCount } = count;
      count.isActive = false;
      try {
        const total =
          ownCount > count.stored
            ? await this.#store.write.ingestCounts.set(tenantId, day, {
                server: this.#server,
                bytes: ownCount,
              })
            : await this.#store.read.ingestCounts.read(tenantId, day);
        count.stored = ownCount;
        count.others = total - ownCount;
        this.#hasFailed = false;
      } catch (cause) {
        // The next exchange tries again.
        count.isActive = true;
        this.#report(cause);
        return;
      }
    }
  }

  #report(cause: unknown): void {
    if (!this.#hasFailed) {
      this.#hasFailed = true;
      process.emitWarning(
        `the bytes that tenants send can't be counted in the database, so only those count that this server has received since it was started: ${messageOf(cause)}`,
      );
    }
  }
}

/** Characters of a day, such as `2026-11-26`. */
const dayChars = 10;

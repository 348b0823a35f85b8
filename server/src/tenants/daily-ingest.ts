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

/** The bytes that a tenant has sent today, as far as they are known to this server. */
interface TenantCount {
  /** Bytes that other servers, and earlier processes of this server, had stored when the database was last read. */
  otherBytes: number;
  /** Bytes that this process has counted. */
  ownBytes: number;
  /** How many of the bytes in `ownBytes` are known to be in the database. */
  storedOwnBytes: number;
  /** Whether the tenant has sent a request since the last exchange. */
  isActive: boolean;
  /** Resolves once the stored count was read, or could not be read. */
  loaded: Promise<void> | undefined;
}

/**
 * Counts the bytes that each tenant sends in a day (UTC). Every few seconds, each server stores its own count and reads
 * the sum of all counts; this is called an exchange. A server stores its whole count of the day, not what was added
 * since the last exchange. If the connection to the database is lost during a commit, whose result is then unknown, the
 * server can thus store the count again, and no byte counts twice. The bytes since the last exchange are unknown to
 * other servers, and a crash loses them.
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

  /**
   * Returns the bytes that a tenant has sent today: to this server until now, to others until the last exchange.
   * The first call for a tenant waits until the count is read from the database.
   */
  async read(tenantId: string): Promise<number> {
    const count = this.#countOf(tenantId);
    count.isActive = true;
    await count.loaded;
    return count.otherBytes + count.ownBytes;
  }

  add(tenantId: string, bytes: number): void {
    const count = this.#countOf(tenantId);
    count.isActive = true;
    count.ownBytes += bytes;
  }

  /** Stores the counts of this server, and reads those of the others. */
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
        // An exchange may have ended meanwhile and read a later, larger count. Keep that count.
        count.otherBytes = Math.max(count.otherBytes, bytes - count.storedOwnBytes);
      } catch (cause) {
        // While the database can't be reached, this server still counts what it receives.
        this.#report(cause);
      }
    };
    const count: TenantCount = {
      otherBytes: 0,
      ownBytes: 0,
      storedOwnBytes: 0,
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
      const { ownBytes } = count;
      count.isActive = false;
      try {
        const total =
          ownBytes > count.storedOwnBytes
            ? await this.#store.write.ingestCounts.set(tenantId, day, {
                server: this.#server,
                bytes: ownBytes,
              })
            : await this.#store.read.ingestCounts.read(tenantId, day);
        count.storedOwnBytes = ownBytes;
        count.otherBytes = total - ownBytes;
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
        `Failed to count the bytes of tenants in the database; until that works again, this server counts only what it receives itself: ${messageOf(cause)}`,
      );
    }
  }
}

/** Characters of a day, such as `2026-11-26`. */
const dayChars = 10;

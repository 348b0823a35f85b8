import { setTimeout as sleep } from "node:timers/promises";
import { messageOf, RequestError } from "../model/errors.ts";
import type { Promised } from "../storage/promised.ts";
import type { StorageReads } from "../storage/storage-use.ts";

/** The part of the store that measures runs. */
export interface MeasuredStore {
  readonly read: Promised<{ readonly storage: Pick<StorageReads, "measureRuns"> }>;
}

/** Options of the limit on the bytes that tenants may store. */
export interface ByteQuotaOptions {
  /** Bytes that a tenant may store; `undefined` for any number. */
  readonly maxBytes: number | undefined;
  /** Called for each request that is refused. */
  readonly onRefused: () => void;
  /** Milliseconds from one measurement to the next. Deletions take effect with the next one. @defaultValue 300,000 */
  readonly intervalMs?: number;
  /** Milliseconds between the parts of a measurement, in which other queries run. @defaultValue 100 */
  readonly pauseMs?: number;
  /** Number of runs that are measured at once. @defaultValue 10,000 */
  readonly runsOfPart?: number;
}

const defaults = { intervalMs: 300_000, pauseMs: 100, runsOfPart: 10_000 } as const;

type BytesByTenant = Map<string, number>;

/**
 * Limits how many bytes the payloads and attachments of a tenant's runs take. No sum is stored. Instead, all runs are
 * measured regularly, in small parts. Requests that arrive between two measurements are added with the size in which
 * they were sent.
 */
export class ByteQuota {
  readonly #store: MeasuredStore;
  readonly #options: ByteQuotaOptions;
  readonly #closing = new AbortController();
  /** Bytes by tenant, as last measured; `undefined` before the first measurement has ended. */
  #measured: BytesByTenant | undefined;
  /** Bytes that arrived before the measurement in progress began and that `#measured` does not contain. */
  #receivedBefore: BytesByTenant = new Map();
  /** Bytes that arrived since that measurement began. */
  #received: BytesByTenant = new Map();

  constructor(store: MeasuredStore, options: ByteQuotaOptions) {
    this.#store = store;
    this.#options = options;
    if (options.maxBytes !== undefined) {
      void this.#measureRegularly();
    }
  }

  /** The bytes that a tenant stores; `undefined` while they are not known. */
  read(tenantId: string): number | undefined {
    return this.#measured === undefined
      ? undefined
      : [this.#measured, this.#receivedBefore, this.#received].reduce(
          (sum, bytes) => sum + (bytes.get(tenantId) ?? 0),
          0,
        );
  }

  /**
   * Checks that a tenant may store more. The request that reaches the limit is still accepted, because its size is not
   * known before it has arrived.
   *
   * @throws RequestError 429: the tenant has reached the limit. The SDK recognizes `insufficient_quota`, and does not
   * send again.
   */
  admit(tenantId: string): void {
    const { maxBytes, onRefused } = this.#options;
    const bytes = maxBytes === undefined ? undefined : this.read(tenantId);
    if (maxBytes !== undefined && bytes !== undefined && bytes >= maxBytes) {
      onRefused();
      throw new RequestError(
        429,
        `insufficient_quota: the runs of the tenant take ${bytes.toLocaleString("en")} bytes, and the limit of this server is ${maxBytes.toLocaleString("en")} (--tenant-max-bytes): delete runs, or set a retention`,
      );
    }
  }

  /** Counts bytes that a tenant has sent. */
  countReceived(tenantId: string, bytes: number): void {
    if (this.#options.maxBytes !== undefined) {
      this.#received.set(tenantId, (this.#received.get(tenantId) ?? 0) + bytes);
    }
  }

  close(): void {
    this.#closing.abort();
  }

  async #measureRegularly(): Promise<void> {
    const { signal } = this.#closing;
    const { intervalMs = defaults.intervalMs } = this.#options;
    while (!signal.aborted) {
      try {
        await this.#measure();
      } catch (cause) {
        // A part was too slow, or the server is closing. The previous measurement and what was added to it stay valid.
        if (!signal.aborted) {
          process.emitWarning(
            `the stored bytes of the tenants could not be measured: ${messageOf(cause)}`,
          );
        }
      }
      await this.#wait(intervalMs);
    }
  }

  async #measure(): Promise<void> {
    const { pauseMs = defaults.pauseMs, runsOfPart = defaults.runsOfPart } = this.#options;
    for (const [tenantId, bytes] of this.#received) {
      this.#receivedBefore.set(tenantId, (this.#receivedBefore.get(tenantId) ?? 0) + bytes);
    }
    this.#received = new Map();
    const measured: BytesByTenant = new Map();
    let after: string | null = null;
    do {
      const part: Awaited<ReturnType<MeasuredStore["read"]["storage"]["measureRuns"]>> =
        await this.#store.read.storage.measureRuns({ after, limit: runsOfPart });
      for (const { tenantId, bytes } of part.tenants) {
        measured.set(tenantId, (measured.get(tenantId) ?? 0) + bytes);
      }
      after = part.next;
      if (after !== null) {
        await this.#wait(pauseMs);
      }
    } while (after !== null && !this.#closing.signal.aborted);
    if (after === null) {
      this.#measured = measured;
      this.#receivedBefore = new Map();
    }
  }

  async #wait(ms: number): Promise<void> {
    // The wait is rejected when the quota is closed; the caller checks for that.
    await sleep(ms, undefined, { ref: false, signal: this.#closing.signal }).catch(() => undefined);
  }
}

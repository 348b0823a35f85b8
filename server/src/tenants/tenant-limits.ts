import { RequestError } from "../model/errors.ts";
import type { DailyIngest } from "./daily-ingest.ts";

/** The limits that a tenant can reach. They are the values of a label in the metrics. */
export type TenantLimit = "requests" | "ingest_bytes" | "stored_runs" | "stored_bytes";

/** Limits on what a tenant may send and store. */
export interface TenantLimitOptions {
  /** Requests that a tenant may send in a second; `undefined` for any number. */
  readonly requestRate: number | undefined;
  /** Bytes of runs, spans and feedback, as sent, that a tenant may send in a day; `undefined` for any number. */
  readonly ingestBytes: number | undefined;
  /** Counts the bytes of the day; `undefined` without a limit. */
  readonly daily: Pick<DailyIngest, "read" | "add"> | undefined;
  /** Called for each request that is refused. */
  readonly onRefused: (limit: TenantLimit) => void;
  /** Milliseconds since the Unix epoch. */
  readonly nowMs?: () => number;
}

/**
 * The number of requests that a tenant may send at once, as seconds of its rate: a page of the UI sends a dozen at
 * once.
 */
const burstSeconds = 2;

const dayMs = 86_400_000;

/** Number of requests (tokens) that a tenant may send, as of the time `atMs`. */
interface Bucket {
  readonly tokens: number;
  readonly atMs: number;
}

/** Limits how many requests each tenant sends, and how many bytes, so that one tenant leaves capacity to the others. */
export class TenantLimits {
  readonly #options: TenantLimitOptions;
  readonly #nowMs: () => number;
  readonly #buckets = new Map<string, Bucket>();

  constructor(options: TenantLimitOptions) {
    this.#options = options;
    this.#nowMs = options.nowMs ?? Date.now;
  }

  /**
   * Counts a request.
   *
   * @throws RequestError 429: the tenant has sent too many requests. The error says when the next one may be sent.
   */
  admitRequest(tenantId: string): void {
    const { requestRate } = this.#options;
    if (requestRate === undefined) {
      return;
    }
    const nowMs = this.#nowMs();
    const capacity = Math.max(1, requestRate * burstSeconds);
    const { tokens, atMs } = this.#buckets.get(tenantId) ?? { tokens: capacity, atMs: nowMs };
    const available = Math.min(capacity, tokens + ((nowMs - atMs) / 1_000) * requestRate);
    if (available < 1) {
      this.#buckets.set(tenantId, { tokens: available, atMs: nowMs });
      this.#options.onRefused("requests");
      throw new RequestError(
        429,
        `the tenant sends more than ${requestRate.toLocaleString("en")} requests a second, the limit of this server (--tenant-rate): send fewer, or larger ones`,
        Math.max(1, Math.ceil((1 - available) / requestRate)),
      );
    }
    this.#buckets.set(tenantId, { tokens: available - 1, atMs: nowMs });
  }

  /**
   * Checks that a tenant may send more runs, spans or feedback today. The request that reaches the limit is still
   * accepted, because its size is not known before it has arrived.
   *
   * @throws RequestError 429: it has reached the limit. The error says when the next day begins.
   */
  async admitIngest(tenantId: string): Promise<void> {
    const { ingestBytes, daily } = this.#options;
    if (ingestBytes === undefined || daily === undefined) {
      return;
    }
    const sentBytes = await daily.read(tenantId);
    if (sentBytes >= ingestBytes) {
      const nowMs = this.#nowMs();
      this.#options.onRefused("ingest_bytes");
      throw new RequestError(
        429,
        `the tenant has sent ${sentBytes.toLocaleString("en")} bytes today, and the limit of this server is ${ingestBytes.toLocaleString("en")} bytes a day (--tenant-ingest-bytes): the next day begins at midnight UTC`,
        Math.ceil((dayMs - (nowMs % dayMs)) / 1_000),
      );
    }
  }

  /** Counts bytes that a tenant has sent. */
  countIngest(tenantId: string, bytes: number): void {
    this.#options.daily?.add(tenantId, bytes);
  }
}

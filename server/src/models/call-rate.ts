import { RequestError } from "../model/errors.ts";
import { outboundCalls } from "../outbound/outbound-limits.ts";

const windowMs = 60_000;
/** Maximum number of calls of one tenant at the same time, which is the number of connections that it may have. */
const maxParallelCalls = outboundCalls.ofTenant;

/** Limits how many calls a tenant makes in a minute, and at the same time. */
export class CallRate {
  readonly #callsPerMinute: number;
  readonly #now: () => number;
  /** When the calls of the last minute began, by tenant. */
  readonly #starts = new Map<string, number[]>();
  readonly #running = new Map<string, number>();

  constructor(callsPerMinute: number, now: () => number = () => performance.now()) {
    this.#callsPerMinute = callsPerMinute;
    this.#now = now;
  }

  /**
   * Counts a call. Returns a function that must be called at its end.
   *
   * @throws RequestError 429: the tenant has made too many calls.
   */
  begin(tenantId: string): () => void {
    const now = this.#now();
    const starts = (this.#starts.get(tenantId) ?? []).filter((start) => start > now - windowMs);
    const [oldest = now] = starts;
    if (starts.length >= this.#callsPerMinute) {
      throw new RequestError(
        429,
        `more than ${this.#callsPerMinute.toLocaleString("en")} model calls in a minute: wait, or start the server with a higher --model-rate`,
        Math.max(1, Math.ceil((oldest + windowMs - now) / 1_000)),
      );
    }
    const running = this.#running.get(tenantId) ?? 0;
    if (running >= maxParallelCalls) {
      throw new RequestError(
        429,
        `${maxParallelCalls} model calls are running, and no more can run at the same time: wait until one has ended`,
        1,
      );
    }
    starts.push(now);
    this.#starts.set(tenantId, starts);
    this.#running.set(tenantId, running + 1);
    let hasEnded = false;
    return () => {
      if (!hasEnded) {
        hasEnded = true;
        this.#end(tenantId);
      }
    };
  }

  #end(tenantId: string): void {
    const running = (this.#running.get(tenantId) ?? 1) - 1;
    if (running > 0) {
      this.#running.set(tenantId, running);
    } else {
      this.#running.delete(tenantId);
    }
  }
}

import { setTimeout as sleep } from "node:timers/promises";
import { isLogFull } from "./jetstream-errors.ts";
import { logLimits } from "./log-limits.ts";

/** When a call is made with a second link, too, and how many calls may use both links at the same time. */
export interface HedgeLimits {
  /** Milliseconds after which a call that has not ended is also made with the other link. */
  readonly lateMs: number;
  /** Maximum number of calls that are made with both links at the same time. */
  readonly calls: number;
  /** Interval at which a call that waits for its turn to use both links checks again, in milliseconds. */
  readonly waitMs: number;
}

const hedgeLimits: HedgeLimits = {
  lateMs: logLimits.hedgeMs,
  calls: logLimits.hedges,
  waitMs: logLimits.hedgeWaitMs,
};

/**
 * Makes calls with one of two links, which are connections to servers, and with the other one as well if the first
 * takes too long or fails. Once the other link has answered such a call, it is used first, so that only the first calls
 * wait for a link that is cut off.
 */
export class HedgedCalls<Link extends { readonly isConnected: boolean }> {
  readonly #limits: HedgeLimits;
  #preferred: Link | undefined;
  #hedged = 0;

  constructor(limits: HedgeLimits = hedgeLimits) {
    this.#limits = limits;
  }

  /**
   * Resolves with the first success.
   *
   * @param call - must be harmless to repeat
   * @throws the error of the last call, if all fail.
   */
  async run<Result>(
    links: readonly [Link, ...Link[]],
    call: (link: Link) => Promise<Result>,
  ): Promise<Result> {
    const connected = links.filter((link) => link.isConnected);
    const link =
      connected.find((candidate) => candidate === this.#preferred) ?? connected[0] ?? links[0];
    const otherLink = connected.find((candidate) => candidate !== link);
    const firstCall = call(link);
    if (otherLink === undefined || !(await this.#isLate(firstCall))) {
      return firstCall;
    }
    this.#hedged += 1;
    try {
      const secondCall = call(otherLink).then((result) => {
        this.#preferred = otherLink;
        return result;
      });
      return await Promise.any([firstCall, secondCall]);
    } catch (cause) {
      throw cause instanceof AggregateError ? (cause.errors as unknown[]).at(-1) : cause;
    } finally {
      this.#hedged -= 1;
    }
  }

  /**
   * Whether a call has not ended in time, or has failed for a reason that another link may not have. Waits longer while
   * many others are late, so that an overloaded log does not receive everything twice.
   */
  async #isLate(call: Promise<unknown>): Promise<boolean> {
    const timeout = new AbortController();
    const ended = call.then(
      () => "in time" as const,
      (cause: unknown) => (isLogFull(cause) ? ("in time" as const) : ("failed" as const)),
    );
    try {
      for (let delayMs = this.#limits.lateMs; ; delayMs = this.#limits.waitMs) {
        const state = await Promise.race([
          ended,
          sleep(delayMs, "late" as const, { signal: timeout.signal }),
        ]);
        if (state !== "late" || this.#hedged < this.#limits.calls) {
          return state !== "in time";
        }
      }
    } finally {
      timeout.abort();
    }
  }
}

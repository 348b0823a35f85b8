import { setTimeout as sleep } from "node:timers/promises";
import type * as Nats from "nats";
import type { LogTarget } from "../model/log-target.ts";
import { HedgedCalls } from "./hedged-calls.ts";
import { LogLink } from "./log-link.ts";
import { logLimits } from "./log-limits.ts";

/**
 * The connections over which a server appends to the log: two, to different NATS servers if there are several. A NATS
 * server that is cut off, or can't reach the stream's leader, then delays a message only briefly.
 */
export class LogLinks {
  readonly #nats: typeof Nats;
  readonly #target: LogTarget;
  readonly #first: LogLink;
  readonly #calls = new HedgedCalls<LogLink>();
  readonly #closing = new AbortController();
  #second: LogLink | undefined;

  /** @param first - the connection that is also used for everything else; its owner closes it */
  constructor(nats: typeof Nats, target: LogTarget, first: LogLink) {
    this.#nats = nats;
    this.#target = target;
    this.#first = first;
  }

  get isConnected(): boolean {
    return this.#all.some((link) => link.isConnected);
  }

  get reconnects(): number {
    return this.#all.reduce((sum, link) => sum + link.reconnects, 0);
  }

  /** How often a connection was lost, or a server became leader of the log. One election may count twice. */
  get disturbances(): number {
    return this.#all.reduce((sum, link) => sum + link.disturbances, 0);
  }

  /** The ids of the NATS servers to which the connections lead at this moment. */
  get serverIds(): ReadonlySet<string> {
    return new Set(this.#all.flatMap(({ serverId }) => serverId ?? []));
  }

  /** Opens the second connection. Resolves after the first attempt; others follow in the background. */
  async openSecond(): Promise<void> {
    if (this.#first.countServers(this.#target) > 1) {
      await this.#tryToOpen();
      // Ends when this object is closed. It retries everything that can fail.
      void this.#keepServersDifferent();
    }
  }

  /** Calls a function with the connections; see {@link HedgedCalls.run}. */
  hedge<Result>(call: (link: LogLink) => Promise<Result>): Promise<Result> {
    return this.#calls.run(this.#all, call);
  }

  /**
   * Returns a connection whose server answers.
   *
   * @throws Error none answers in time.
   */
  findAnswering(): Promise<LogLink> {
    return this.hedge(async (link) => {
      const timeout = new AbortController();
      try {
        const isAnswered = await Promise.race([
          link.connection.flush().then(() => true),
          sleep(logLimits.publishAttemptMs, false, { signal: timeout.signal }),
        ]);
        if (!isAnswered) {
          throw new Error("no server of the log answers");
        }
        return link;
      } finally {
        timeout.abort();
      }
    });
  }

  /** Closes the second connection. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#second?.connection.close();
  }

  get #all(): readonly [LogLink, ...LogLink[]] {
    return this.#second === undefined ? [this.#first] : [this.#first, this.#second];
  }

  /**
   * Opens the second connection if it is missing, and moves it to another server if both connections lead to the same
   * one.
   */
  async #keepServersDifferent(): Promise<void> {
    const { signal } = this.#closing;
    let delayMs: number = logLimits.serverCheckMs;
    while (!signal.aborted) {
      await sleep(delayMs, undefined, { signal, ref: false }).catch(() => undefined);
      const { serverId } = this.#first;
      const isShared = serverId !== undefined && serverId === this.#second?.serverId;
      if (this.#second === undefined) {
        await this.#tryToOpen();
      } else if (isShared && !signal.aborted) {
        await this.#second.connection.reconnect().catch(() => undefined);
      }
      // The other servers may be unavailable for a long time, so the pause grows.
      delayMs = isShared
        ? Math.min(2 * delayMs, logLimits.maxServerCheckMs)
        : logLimits.serverCheckMs;
    }
  }

  async #tryToOpen(): Promise<void> {
    // The server of the first connection comes last.
    const currentServer = this.#first.connection.getServer();
    const servers = this.#target.servers.toSorted(
      (left, right) => Number(left === currentServer) - Number(right === currentServer),
    );
    try {
      const link = await LogLink.open(this.#nats, { ...this.#target, servers });
      if (this.#closing.signal.aborted) {
        await link.connection.close();
      } else {
        this.#second = link;
      }
    } catch {
      // The next check tries again. If no server can be reached, the first connection reports it.
    }
  }
}

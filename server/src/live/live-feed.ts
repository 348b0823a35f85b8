import type { ServerResponse } from "node:http";
import { RequestError } from "../model/errors.ts";
import { safeHeaders } from "../http/safe-headers.ts";
import type { Activity } from "../runs/activity.ts";
import { ActivityHistory } from "./activity-history.ts";
import type { LiveSecond } from "./activity-history.ts";
import type { SdkClient, SdkClients } from "./sdk-clients.ts";

/** What the feed sends to a connected UI: first the activity of the last few minutes, then an update each second. */
export interface LiveEvent {
  /** Seconds since the epoch. The counts of all earlier seconds are complete. */
  readonly now: number;
  /** The counts of each second with activity since the event before. */
  readonly seconds: readonly LiveSecond[];
  /** The last reports of the tenant's SDK clients. */
  readonly senders: readonly SdkClient[];
}

/** Length of the history: five minutes. */
const historySeconds = 300;
/** Maximum number of connected UIs. */
const maxListeners = 64;
/** Unsent bytes at which a connection is closed; the UI then reconnects. */
const maxUnsentBytes = 4_194_304;
const tickMs = 1_000;

interface Listener {
  readonly tenantId: string;
  readonly response: ServerResponse;
  /** Checks whether the request that opened the connection would still be authorized. */
  readonly isStillAuthorized: () => Promise<boolean>;
  /** The first second whose counts were not sent yet. */
  nextSecond: number;
}

/**
 * Once a second, sends the connected UIs the counts of the runs that were stored. While no UI is connected, no timer
 * runs.
 */
export class LiveFeed {
  readonly #history = new ActivityHistory(historySeconds);
  readonly #clients: SdkClients;
  readonly #now: () => number;
  readonly #listeners = new Set<Listener>();
  #timer: NodeJS.Timeout | undefined;

  constructor(clients: SdkClients, now: () => number = Date.now) {
    this.#clients = clients;
    this.#now = now;
  }

  /** Adds the counts of the runs that a commit of the database stored. */
  record(activity: readonly Activity[]): void {
    this.#history.add(activity, this.#readSeconds());
  }

  /**
   * Writes events to a response until either side closes it, or `isStillAuthorized` returns false.
   *
   * @throws RequestError 503: there are too many connections.
   */
  add(
    tenantId: string,
    response: ServerResponse,
    isStillAuthorized: Listener["isStillAuthorized"],
  ): void {
    if (this.#listeners.size >= maxListeners) {
      throw new RequestError(
        503,
        "too many UI windows are connected to this server; close some of them",
        10,
      );
    }
    const nextSecond = this.#readSeconds() - historySeconds;
    const listener: Listener = { tenantId, response, isStillAuthorized, nextSecond };
    response.writeHead(200, {
      ...safeHeaders,
      "content-type": "text/event-stream; charset=utf-8",
      // Proxies such as nginx would otherwise hold events back until their buffer is full.
      "x-accel-buffering": "no",
    });
    this.#listeners.add(listener);
    response.once("close", () => this.#remove(listener));
    this.#sendEvent(listener);
    // The timer must not keep the process alive.
    this.#timer ??= setInterval(
      () => this.#listeners.forEach((openListener) => void this.#update(openListener)),
      tickMs,
    );
    this.#timer.unref();
  }

  /** Closes all connections. */
  close(): void {
    for (const listener of this.#listeners) {
      listener.response.end();
      this.#remove(listener);
    }
  }

  async #update(listener: Listener): Promise<void> {
    const isStillAuthorized = await listener.isStillAuthorized().catch(() => false);
    if (!this.#listeners.has(listener)) {
      return;
    }
    if (isStillAuthorized) {
      this.#sendEvent(listener);
    } else {
      listener.response.end();
      this.#remove(listener);
    }
  }

  #sendEvent(listener: Listener): void {
    const { tenantId, response, nextSecond } = listener;
    if (response.writableLength > maxUnsentBytes) {
      response.destroy();
      return;
    }
    const now = this.#readSeconds();
    const event: LiveEvent = {
      now,
      seconds: this.#history.read(tenantId, nextSecond, now),
      senders: this.#clients.list(tenantId),
    };
    listener.nextSecond = now;
    response.write(`data: ${JSON.stringify(event)}\n\n`);
  }

  #remove(listener: Listener): void {
    this.#listeners.delete(listener);
    if (this.#listeners.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }

  #readSeconds(): number {
    return Math.floor(this.#now() / 1_000);
  }
}

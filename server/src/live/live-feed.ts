import type { ServerResponse } from "node:http";
import { RequestError } from "../model/errors.ts";
import { safeHeaders } from "../http/safe-headers.ts";
import type { Activity } from "../runs/activity.ts";
import { ActivityHistory } from "./activity-history.ts";
import type { LiveSecond } from "./activity-history.ts";
import type { Sender, Senders } from "./senders.ts";

/** What a listener gets: at first all of the last minutes, then each second what it brought. */
export interface LiveEvent {
  /** The second that has just begun: what is before it is complete. Seconds since the epoch. */
  readonly now: number;
  readonly seconds: readonly LiveSecond[];
  readonly senders: readonly Sender[];
}

/** Seconds that are kept: five minutes. */
const historySeconds = 300;
/** Pages that may watch at once. */
const listenersMax = 64;
/** Bytes that a listener may be behind before it is let go; its page connects again. */
const behindMax = 4_194_304;
const tickMs = 1_000;

interface Listener {
  readonly tenantId: string;
  readonly response: ServerResponse;
  /** Whether who listens would be let in now, too. */
  readonly mayStay: () => Promise<boolean>;
  /** The first second that it has not got. */
  next: number;
}

/** Sends what was stored recently to the connected UIs, once a second. No timer runs without connections. */
export class LiveFeed {
  readonly #history = new ActivityHistory(historySeconds);
  readonly #senders: Senders;
  readonly #now: () => number;
  readonly #listeners = new Set<Listener>();
  #timer: NodeJS.Timeout | undefined;

  constructor(senders: Senders, now: () => number = Date.now) {
    this.#senders = senders;
    this.#now = now;
  }

  /** What a commit has stored. */
  note(activity: readonly Activity[]): void {
    this.#history.add(activity, this.#seconds());
  }

  /**
   * Writes events to a response until either side ends it, or `mayStay` returns false.
   *
   * @throws RequestError 503: too many watch.
   */
  add(tenantId: string, response: ServerResponse, mayStay: Listener["mayStay"]): void {
    if (this.#listeners.size >= listenersMax) {
      throw new RequestError(503, "too many pages watch this server; close some of them", 10);
    }
    const next = this.#seconds() - historySeconds;
    const listener: Listener = { tenantId, response, mayStay, next };
    response.writeHead(200, {
      ...safeHeaders,
      "content-type": "text/event-stream; charset=utf-8",
    });
    this.#listeners.add(listener);
    response.once("close", () => this.#remove(listener));
    this.#tell(listener);
    // A page that watches holds no server open: it is closed with the rest.
    this.#timer ??= setInterval(
      () => this.#listeners.forEach((one) => void this.#goOn(one)),
      tickMs,
    );
    this.#timer.unref();
  }

  /** Ends what every listener reads. */
  close(): void {
    for (const listener of this.#listeners) {
      listener.response.end();
      this.#remove(listener);
    }
  }

  async #goOn(listener: Listener): Promise<void> {
    const mayStay = await listener.mayStay().catch(() => false);
    if (!this.#listeners.has(listener)) {
      return;
    }
    if (mayStay) {
      this.#tell(listener);
    } else {
      listener.response.end();
      this.#remove(listener);
    }
  }

  #tell(listener: Listener): void {
    const { tenantId, response, next } = listener;
    if (response.writableLength > behindMax) {
      response.destroy();
      return;
    }
    const now = this.#seconds();
    const event: LiveEvent = {
      now,
      seconds: this.#history.read(tenantId, next, now),
      senders: this.#senders.list(tenantId),
    };
    listener.next = now;
    response.write(`data: ${JSON.stringify(event)}\n\n`);
  }

  #remove(listener: Listener): void {
    this.#listeners.delete(listener);
    if (this.#listeners.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }

  #seconds(): number {
    return Math.floor(this.#now() / 1_000);
  }
}

import { OutboundError } from "../outbound/outbound-error.ts";
import type { OutboundClient } from "../outbound/outbound-client.ts";
import { messageOf } from "../model/errors.ts";
import { createWebhookHeaders } from "./sign-delivery.ts";
import { retryDelaysMs } from "./webhook.ts";
import type { DueDelivery, WebhookReads, WebhookWrites } from "./webhook.ts";

/** The part of the store that the sender uses. */
export interface SenderStore {
  readonly read: { readonly webhooks: Pick<WebhookReads, "listDue" | "readTarget"> };
  readonly write: { readonly webhooks: Pick<WebhookWrites, "record"> };
}

/** How long the sender waits, in milliseconds. */
export interface SenderTimes {
  /** Longest pause between two searches for due deliveries. */
  readonly pollMs: number;
  /** Pause after the database could not be read or written. */
  readonly failureMs: number;
  /** Pause before a delivery is tried again because no connection was free. */
  readonly busyMs: number;
  /** See {@link retryDelaysMs}. */
  readonly retryDelaysMs: readonly number[];
}

const defaultTimes: SenderTimes = {
  pollMs: 60_000,
  failureMs: 60_000,
  busyMs: 1_000,
  retryDelaysMs,
};

/** The share of each delay that is random, so that failed deliveries are not all sent again at the same moment. */
const jitter = 0.1;

/** The outcome of an attempt: the status of the response, if there was one, and why the attempt failed, if it did. */
export interface AttemptOutcome {
  readonly status: number | null;
  readonly error: string | null;
}

/**
 * Sends the deliveries of webhooks that are due. They are stored in the database, so a restart loses none. A delivery
 * whose attempt was not recorded is sent again. The timer does not keep the process alive.
 */
export class WebhookSender {
  readonly #store: SenderStore;
  readonly #client: OutboundClient;
  readonly #times: SenderTimes;
  /** Deliveries that are being sent, by tenant and id. */
  readonly #sending = new Map<string, Promise<void>>();
  readonly #serverUrl: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #step: Promise<void> | undefined;
  #mustSearchAgain = false;
  #isClosed = true;

  /** @param serverUrl - the public URL of the server, which deliveries contain */
  constructor(
    store: SenderStore,
    client: OutboundClient,
    {
      serverUrl,
      ...times
    }: Partial<SenderTimes> & { readonly serverUrl?: string | undefined } = {},
  ) {
    this.#serverUrl = serverUrl;
    this.#store = store;
    this.#client = client;
    this.#times = { ...defaultTimes, ...times };
  }

  /** Begins to send what is due. */
  start(): void {
    this.#isClosed = false;
    this.wake();
  }

  /** Must be called after deliveries were stored, so that they are sent now. */
  wake(): void {
    if (this.#isClosed) {
      return;
    }
    this.#mustSearchAgain = true;
    this.#step ??= this.#run().finally(() => {
      this.#step = undefined;
    });
  }

  /**
   * Stops sending, and waits until the attempts in progress have ended. The caller must close the client, which cancels
   * these attempts.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#step;
    await Promise.all(this.#sending.values());
  }

  /** Sends a test event, which is not stored, and returns the outcome. */
  async sendTest(tenantId: string, webhookId: string, id: string): Promise<AttemptOutcome> {
    const target = await this.#store.read.webhooks.readTarget(tenantId, webhookId);
    const body = JSON.stringify({
      type: "webhook.test",
      timestamp: new Date().toISOString(),
      data: { message: "This is a test of a webhook of Millrace." },
    });
    const { status, error } = await this.#post({ ...target, tenantId, id, body });
    return { status, error };
  }

  async #run(): Promise<void> {
    clearTimeout(this.#timer);
    let waitMs = this.#times.pollMs;
    while (this.#mustSearchAgain && !this.#isClosed) {
      this.#mustSearchAgain = false;
      try {
        const nowMicros = Date.now() * 1_000;
        const { due, nextMicros } = await this.#store.read.webhooks.listDue(nowMicros);
        for (const delivery of due) {
          this.#send(delivery);
        }
        waitMs =
          nextMicros === null
            ? this.#times.pollMs
            : Math.min(this.#times.pollMs, (nextMicros - nowMicros) / 1_000);
      } catch (cause) {
        waitMs = this.#times.failureMs;
        this.#warn(cause);
      }
    }
    if (!this.#isClosed) {
      this.#timer = setTimeout(() => {
        this.wake();
      }, waitMs);
      this.#timer.unref();
    }
  }

  #send(delivery: DueDelivery): void {
    const key = `${delivery.tenantId} ${delivery.id}`;
    if (this.#sending.has(key) || this.#isClosed) {
      return;
    }
    const sending = this.#sendAndRecord(delivery).then((pauseMs) => this.#end(key, pauseMs));
    this.#sending.set(key, sending);
  }

  /**
   * Ends an attempt. If the delivery is still due, because the attempt was not made or not recorded, it is not sent
   * again before `pauseMs` have passed: sending it at once could repeat it endlessly.
   */
  #end(key: string, pauseMs: number): undefined {
    const end = (): void => {
      this.#sending.delete(key);
      this.wake();
    };
    if (pauseMs === 0 || this.#isClosed) {
      end();
    } else {
      setTimeout(end, pauseMs).unref();
    }
    return undefined;
  }

  /** Resolves to the milliseconds until the delivery may be attempted again. */
  async #sendAndRecord(delivery: DueDelivery): Promise<number> {
    const { status, error, wasMade } = await this.#post(delivery);
    if (!wasMade) {
      return this.#times.busyMs;
    }
    const atMicros = Date.now() * 1_000;
    const delayMs = this.#times.retryDelaysMs[delivery.attempts];
    try {
      await this.#store.write.webhooks.record([
        {
          tenantId: delivery.tenantId,
          id: delivery.id,
          webhookId: delivery.webhookId,
          atMicros,
          status,
          error,
          nextMicros:
            error === null || delayMs === undefined
              ? null
              : atMicros + Math.round(delayMs * (1 + Math.random() * jitter)) * 1_000,
        },
      ]);
      return 0;
    } catch (cause) {
      this.#warn(cause);
      return this.#times.failureMs;
    }
  }

  async #post({ tenantId, id, url, secrets, body }: Attempt): Promise<PostResult> {
    if (secrets === undefined) {
      return { status: null, error: lostSecret, wasMade: true };
    }
    // The paths in a delivery, such as `app_path`, are below this URL. It may have changed since the event was stored.
    const sentBody =
      this.#serverUrl === undefined
        ? body
        : `{"server_url":${JSON.stringify(this.#serverUrl)},${body.slice(1)}`;
    try {
      const timestamp = Math.floor(Date.now() / 1_000);
      const response = await this.#client.request({
        tenantId,
        url,
        method: "POST",
        headers: createWebhookHeaders(secrets, { id, timestamp, body: sentBody }),
        body: sentBody,
      });
      const { status } = response;
      response.cancel();
      const error =
        status >= 200 && status < 300 ? null : `The receiver responded with status ${status}.`;
      return { status, error, wasMade: true };
    } catch (cause) {
      if (!(cause instanceof OutboundError)) {
        return { status: null, error: `The server failed: ${messageOf(cause)}`, wasMade: true };
      }
      const wasMade = cause.code !== "BUSY" && cause.code !== "CANCELED";
      return { status: cause.status ?? null, error: cause.message, wasMade };
    }
  }

  #warn(cause: unknown): void {
    if (!this.#isClosed) {
      process.emitWarning(
        `webhooks are not sent, next attempt in ${this.#times.failureMs / 1_000} s: ${messageOf(cause)}`,
      );
    }
  }
}

/** `wasMade` is false if the server itself had no capacity, or is closing. Such an attempt does not count. */
interface PostResult extends AttemptOutcome {
  readonly wasMade: boolean;
}

/** The parts of a delivery that an attempt needs. */
type Attempt = Pick<DueDelivery, "tenantId" | "id" | "url" | "secrets" | "body">;

const lostSecret =
  "The secret can't be decrypted, because token.key next to the database does not contain its key. Restore that file and restart the server, or create the webhook again.";

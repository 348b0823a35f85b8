import type { Msg, Subscription } from "nats";
import { logLimits, logNames } from "./log-limits.ts";
import type { LogConnection } from "./log-connection.ts";

/** A message of the log that a writer applies. */
export interface WriterMessage {
  readonly data: Uint8Array;
  /** How often a writer has received the message, this time included. */
  readonly deliveries: number;
  /**
   * Reports that the runs of the message are stored: the log deletes the message. If the report gets lost, the message
   * is received again.
   */
  acknowledge(): void;
  /** As `acknowledge`; resolves when the log has confirmed it. */
  acknowledgeConfirmed(): Promise<void>;
  /** Gives the message back, to be received again after the given time by any writer. */
  giveBack(delayMs: number): void;
  /** Reports that the message is still being applied, so that no other writer receives it. */
  extend(): void;
}

/** A message that the log has delivered to this writer. */
export class PulledMessage implements WriterMessage {
  readonly data: Uint8Array;
  readonly deliveries: number;
  /** The position of the message in the log. */
  readonly sequence: number;
  /** Number of messages that waited in the log behind this one. */
  readonly pending: number;
  readonly #log: LogConnection;
  readonly #reply: string;

  constructor(log: LogConnection, { data, reply = "" }: Msg) {
    this.#log = log;
    this.#reply = reply;
    this.data = data;
    // $JS.ACK.[domain.account.]stream.consumer.deliveries.sequence.consumer sequence.time.pending[.token]
    const tokens = reply.split(".");
    const start = tokens.length > 9 ? 6 : 4;
    this.deliveries = Number(tokens[start]);
    this.sequence = Number(tokens[start + 1]);
    this.pending = Number(tokens[start + 4]);
  }

  acknowledge(): void {
    this.#send("+ACK");
  }

  async acknowledgeConfirmed(): Promise<void> {
    await this.#log.connection.request(this.#reply, "+ACK", { timeout: logLimits.callMs });
  }

  giveBack(delayMs: number): void {
    this.#send(delayMs === 0 ? "-NAK" : `-NAK {"delay": ${delayMs * 1_000_000}}`);
  }

  extend(): void {
    this.#send("+WPI");
  }

  #send(text: string): void {
    if (!this.#log.connection.isClosed()) {
      this.#log.connection.publish(this.#reply, text);
    }
  }
}

/**
 * Receives messages of the log for a writer: those that the log already has, or else the first one that arrives in
 * time. Each request ends by itself, so that a writer holds only a few messages more than it applies. A message that
 * arrives after the end of its request is kept for the next call, because the log delivers it again only after the time
 * for acknowledging it.
 */
export class MessagePuller {
  readonly #log: LogConnection;
  readonly #inbox: string;
  readonly #subscription: Subscription;
  readonly #arrived: PulledMessage[] = [];
  #requests = 0;
  /** Ends the wait for the current request. */
  #onMessage: ((pulled: PulledMessage) => void) | undefined;
  #onStatus: ((inbox: string, code: number | undefined) => void) | undefined;
  #onError: ((cause: Error) => void) | undefined;

  constructor(log: LogConnection) {
    this.#log = log;
    this.#inbox = log.createInbox();
    this.#subscription = log.connection.subscribe(`${this.#inbox}.*`, {
      callback: (error, message) => {
        if (error !== null) {
          this.#onError?.(error);
        } else if (message.subject.startsWith(`${this.#inbox}.`)) {
          this.#onStatus?.(message.subject, message.headers?.code);
        } else {
          const pulled = new PulledMessage(this.#log, message);
          this.#arrived.push(pulled);
          this.#onMessage?.(pulled);
        }
      },
    });
  }

  /**
   * Resolves with what has arrived, which may be nothing. The signal ends the wait.
   *
   * @throws Error the log can't be reached.
   */
  async pull(signal: AbortSignal): Promise<readonly PulledMessage[]> {
    if (this.#arrived.length === 0) {
      await this.#request(signal, {
        batch: logLimits.fetchMessages,
        no_wait: true,
        waitMs: logLimits.noWaitMs,
      });
    }
    if (this.#arrived.length === 0 && !signal.aborted) {
      await this.#request(signal, {
        batch: 1,
        expires: logLimits.waitMs * 1_000_000,
        waitMs: logLimits.waitMs + logLimits.noWaitMs,
      });
    }
    return this.#arrived.splice(0);
  }

  /** Gives back what has arrived meanwhile. */
  close(): void {
    this.#subscription.unsubscribe();
    this.#arrived.splice(0).forEach((message) => message.giveBack(0));
  }

  /** Resolves when the log has sent all that it has for a request, or time is over. */
  async #request(signal: AbortSignal, { waitMs, ...options }: PullRequest): Promise<void> {
    this.#requests += 1;
    const reply = `${this.#inbox}.${this.#requests}`;
    let timer: NodeJS.Timeout | undefined;
    let onAbort: (() => void) | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        onAbort = resolve;
        signal.addEventListener("abort", onAbort);
        timer = setTimeout(resolve, waitMs);
        this.#onError = reject;
        this.#onMessage = ({ pending }) => {
          if (this.#arrived.length >= options.batch || pending === 0) {
            resolve();
          }
        };
        this.#onStatus = (inbox, code) => {
          if (inbox !== reply) {
            return; // The end of an earlier request.
          }
          if (code === 503) {
            reject(new Error("no server of the log answers"));
          } else {
            // No messages (404), time is over (408), or the request was canceled (409).
            resolve();
          }
        };
        this.#log.connection.publish(
          `$JS.API.CONSUMER.MSG.NEXT.${logNames.stream}.${logNames.consumer}`,
          JSON.stringify(options),
          { reply },
        );
      });
    } finally {
      clearTimeout(timer);
      this.#onMessage = undefined;
      this.#onStatus = undefined;
      this.#onError = undefined;
      if (onAbort !== undefined) {
        signal.removeEventListener("abort", onAbort);
      }
    }
  }
}

interface PullRequest {
  readonly batch: number;
  readonly no_wait?: boolean;
  /** Time after which the NATS server ends the request, in nanoseconds. */
  readonly expires?: number;
  /** Milliseconds after which the answer counts as late. */
  readonly waitMs: number;
}

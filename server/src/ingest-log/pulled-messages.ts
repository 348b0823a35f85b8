import type { Msg, Subscription } from "nats";
import { logLimits, logNames } from "./log-limits.ts";
import type { LogConnection } from "./log-connection.ts";

/** A message that the log has delivered to this writer. */
export class PulledMessage {
  readonly data: Uint8Array;
  /** How often the log has delivered the message, this time included. */
  readonly deliveries: number;
  /** Its place in the log. */
  readonly sequence: number;
  /** Messages that waited in the log behind this one. */
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

  /** Reports the message as applied: the log deletes it. If the report gets lost, the message is delivered again. */
  acknowledge(): void {
    this.#send("+ACK");
  }

  /** As {@link acknowledge}; resolves when the log has confirmed it. */
  async acknowledgeConfirmed(): Promise<void> {
    await this.#log.connection.request(this.#reply, "+ACK", { timeout: logLimits.callMs });
  }

  /** Gives the message back. The log delivers it again after the given time, to any writer. */
  giveBack(delayMs: number): void {
    this.#send(delayMs === 0 ? "-NAK" : `-NAK {"delay": ${delayMs * 1_000_000}}`);
  }

  /** Reports that the message is still in work, so that the log does not deliver it again. */
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
 * Receives messages of the log for a writer: what it has at hand, or else the first that arrives in time. Requests that
 * end by themselves are used, rather than a subscription, so that a writer never holds more messages than it applies. The
 * signal ends the wait.
 *
 * @throws Error the log can't be reached.
 */
export async function pullMessages(
  log: LogConnection,
  signal: AbortSignal,
): Promise<readonly PulledMessage[]> {
  const ready = await request(log, signal, {
    batch: logLimits.fetchMessages,
    no_wait: true,
    waitMs: logLimits.noWaitMs,
  });
  return ready.length > 0 || signal.aborted
    ? ready
    : request(log, signal, {
        batch: 1,
        expires: logLimits.waitMs * 1_000_000,
        waitMs: logLimits.waitMs + logLimits.noWaitMs,
      });
}

interface PullRequest {
  readonly batch: number;
  readonly no_wait?: boolean;
  /** Nanoseconds. */
  readonly expires?: number;
  /** Milliseconds after which the answer counts as lost. */
  readonly waitMs: number;
}

async function request(
  log: LogConnection,
  signal: AbortSignal,
  { waitMs, ...options }: PullRequest,
): Promise<readonly PulledMessage[]> {
  const { connection } = log;
  const inbox = log.createInbox();
  const messages: PulledMessage[] = [];
  let subscription: Subscription | undefined;
  let timer: NodeJS.Timeout | undefined;
  let onAbort: (() => void) | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      onAbort = resolve;
      signal.addEventListener("abort", onAbort);
      timer = setTimeout(resolve, waitMs);
      subscription = connection.subscribe(inbox, {
        callback: (error, message) => {
          if (error !== null) {
            reject(error);
          } else if (message.subject !== inbox) {
            const pulled = new PulledMessage(log, message);
            messages.push(pulled);
            if (messages.length >= options.batch || pulled.pending === 0) {
              resolve();
            }
          } else if (message.headers?.code === 503) {
            reject(new Error("no server of the log answers"));
          } else {
            // A status: no messages (404), time is over (408), or the request was canceled (409).
            resolve();
          }
        },
      });
      connection.publish(
        `$JS.API.CONSUMER.MSG.NEXT.${logNames.stream}.${logNames.consumer}`,
        JSON.stringify(options),
        { reply: inbox },
      );
    });
  } finally {
    clearTimeout(timer);
    subscription?.unsubscribe();
    if (onAbort !== undefined) {
      signal.removeEventListener("abort", onAbort);
    }
  }
  return messages;
}

import { channel } from "node:diagnostics_channel";
import type { Logger, LossReason } from "../model/stats.ts";

/** How often one kind of trouble is logged. */
const quietMs = 60_000;

/** Subscribe to `millrace:<name>` with node:diagnostics_channel to hear of each outcome. */
const channels = {
  delivered: channel("millrace:delivered"),
  rejected: channel("millrace:rejected"),
  dropped: channel("millrace:dropped"),
  spooled: channel("millrace:spooled"),
  retried: channel("millrace:retried"),
} as const;

const lossTexts: Readonly<Record<LossReason, string>> = {
  queueFull: "the queue is full (maxQueueBytes, maxQueueRecords)",
  rejected: "the server refused them",
  expired: "every attempt failed",
  closed: "the client was closed, or the process ended, before they were sent",
  workerLost: "workers died with them",
  invalid: "they were no runs: a bad id or dotted order",
  unencodable: "they could not be encoded",
};

/** Says what happens: to the log, once a minute for each kind, and to diagnostics channels, always. */
export class Reporter {
  readonly #logger: Logger;
  readonly #now: () => number;
  readonly #quietUntil = new Map<string, number>();
  readonly #unsaid = new Map<string, number>();

  constructor(logger: Logger, now: () => number) {
    this.#logger = logger;
    this.#now = now;
  }

  /** Publishes an outcome; `facts` hold no inputs or outputs. */
  publish(name: keyof typeof channels, facts: Readonly<Record<string, unknown>>): void {
    const target = channels[name];
    if (target.hasSubscribers) {
      target.publish(facts);
    }
  }

  /** Logs a loss, with what was lost quietly since the last time. */
  loss(reason: LossReason, records: number, detail = lossTexts[reason]): void {
    this.publish("dropped", { reason, records });
    const total = (this.#unsaid.get(reason) ?? 0) + records;
    this.#unsaid.set(reason, total);
    this.log(reason, () => {
      this.#unsaid.delete(reason);
      return `Lost ${total} record${total === 1 ? "" : "s"} (${reason}): ${detail}`;
    });
  }

  /** Logs unless `kind` was logged within the last minute. */
  log(kind: string, message: () => string): void {
    const now = this.#now();
    if (now < (this.#quietUntil.get(kind) ?? Number.NEGATIVE_INFINITY)) {
      return;
    }
    this.#quietUntil.set(kind, now + quietMs);
    try {
      this.#logger.warn(`[millrace] ${message()}`);
    } catch {
      // A logger that throws must not reach the traced program; the counters have the loss.
    }
  }
}

/** Where warnings go by default: standard error. */
export const consoleLogger: Logger = {
  warn(message) {
    process.stderr.write(`${message}\n`);
  },
};

import { channel } from "node:diagnostics_channel";
import type { Channel } from "node:diagnostics_channel";
import type { EnvironmentFault } from "../model/options/environment.ts";
import { isLogged } from "../model/options/log-level.ts";
import type { LogLevel, MessageLevel } from "../model/options/log-level.ts";
import { toPrintable } from "../model/printable-text.ts";
import type { PlainOptions } from "../model/options/option-table.ts";
import type { ShipReport } from "../model/records/shipping.ts";
import type { Logger, LossReason } from "../model/stats.ts";
import type { CutReason } from "../tracing/queue/ledger.ts";
import { assertStackRoom } from "../tracing/queue/stack-room.ts";

/** How often one kind of trouble is logged. */
const quietMs = 60_000;

/** What happened, as the diagnostics channels are named: `millrace:<name>`. */
export type EventName = "delivered" | "rejected" | "dropped" | "spooled" | "retried";

/** Subscribe with node:diagnostics_channel to hear of each outcome. */
const channels: Readonly<Record<EventName, Channel>> = {
  delivered: channel("millrace:delivered"),
  rejected: channel("millrace:rejected"),
  dropped: channel("millrace:dropped"),
  spooled: channel("millrace:spooled"),
  retried: channel("millrace:retried"),
};

/** Why records were lost, in words. */
export const lossTexts: Readonly<Record<LossReason, string>> = {
  queueFull: "the queue is full (maxQueueBytes, maxQueueRecords)",
  rejected: "the server refused them",
  expired: "every attempt failed",
  closed: "the client was closed, or the process ended, before they were sent",
  workerLost: "workers died with them",
  quarantined: "workers died or hung as they wrote them, or they can't be written",
  invalid: "they were no runs: a bad id or dotted order",
  unencodable: "they could not be encoded",
  spoolFull: "the spool's quota was reached (spoolQuotaBytes)",
  spoolLost: "the spool's files were removed or damaged",
  misconfigured: "a variable that says where to send can't be read",
};

/** Why parts of fields were left out, in words; counted in `truncated`. */
export const cutTexts: Readonly<Record<CutReason, string>> = {
  field: "A field was cut at its limit (maxFieldBytes); the rest of its run arrives",
  run: "Fields were left out of a run that is more than the server takes; the rest of it arrived",
};

type Whereabouts = Pick<PlainOptions, "enabled" | "endpoint" | "projectName" | "spoolDir">;

export interface ReporterOptions {
  /** @defaultValue `warn` */
  readonly level?: LogLevel;
  /** Why a request last failed, in words; each message about a loss ends with it. */
  readonly lastFailure?: () => string | undefined;
}

/** Says what happens: to the log, once a minute for each kind, and to diagnostics channels, always. */
export class Reporter {
  readonly #logger: Logger;
  readonly #level: LogLevel;
  readonly #now: () => number;
  readonly #lastFailure: () => string | undefined;
  readonly #quietUntil = new Map<string, number>();
  readonly #unreported = new Map<LossReason, number>();
  #timer: NodeJS.Timeout | undefined;
  #hasServer = false;

  constructor(
    logger: Logger,
    now: () => number,
    { level = "warn", lastFailure = () => undefined }: ReporterOptions = {},
  ) {
    this.#logger = logger;
    this.#level = level;
    this.#now = now;
    this.#lastFailure = lastFailure;
  }

  /** Says where is recorded to, with a level that shows it. */
  begin({ enabled, endpoint, projectName, spoolDir }: Whereabouts): void {
    const spool = spoolDir === undefined ? "" : `, spool ${spoolDir}`;
    const text = enabled
      ? `Recording to ${endpoint}, project ${projectName}${spool}`
      : "Tracing is off: nothing is recorded";
    this.log("begin", () => text, "info");
  }

  /** Publishes an outcome; `facts` hold no inputs or outputs. */
  publish(name: EventName, facts: Readonly<Record<string, unknown>>): void {
    const target = channels[name];
    if (target.hasSubscribers) {
      target.publish(facts);
    }
  }

  /** Logs a loss: at once, or with the others of its kind when a minute is over. */
  loss(reason: LossReason, records: number): void {
    this.publish("dropped", { reason, records });
    if (reason === "misconfigured") {
      // The variable was named when the client was made.
      return;
    }
    this.#unreported.set(reason, (this.#unreported.get(reason) ?? 0) + records);
    this.log(reason, () => this.#lossText(reason), "error");
    if (this.#unreported.size > 0 && this.#timer === undefined) {
      this.#timer = setTimeout(() => this.logRemaining(), quietMs);
      // Where the program ends earlier, the rest is logged when its client closes.
      this.#timer.unref();
    }
  }

  /** Logs the losses that were not logged yet. */
  logRemaining(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const reason of this.#unreported.keys()) {
      this.#quietUntil.delete(reason);
      this.log(reason, () => this.#lossText(reason), "error");
    }
  }

  #lossText(reason: LossReason): string {
    const records = this.#unreported.get(reason) ?? 0;
    this.#unreported.delete(reason);
    const failure = this.#lastFailure();
    return [
      `Lost ${records} record${records === 1 ? "" : "s"} (${reason}): ${lossTexts[reason]}`,
      ...(failure === undefined ? [] : [failure]),
    ].join(". ");
  }

  /** Logs unless `kind` was logged within the last minute. @throws RangeError there is no stack left for it. */
  log(kind: string, message: () => string, level: MessageLevel = "warn"): void {
    if (!isLogged(level, this.#level)) {
      return;
    }
    const now = this.#now();
    if (now < (this.#quietUntil.get(kind) ?? Number.NEGATIVE_INFINITY)) {
      return;
    }
    // A log that is broken off in the middle would stay so.
    assertStackRoom();
    this.#quietUntil.set(kind, now + quietMs);
    logThrough(this.#logger, level, message());
  }

  /** Says what a worker did with a tape: to the log each time, where that shows deliveries. */
  shipped({ delivered, requests, retries, reason, server }: ShipReport): void {
    if (delivered > 0) {
      this.publish("delivered", { records: delivered });
    }
    if (retries > 0) {
      this.publish("retried", { retries, reason });
    }
    if (server !== undefined && !this.#hasServer) {
      this.#hasServer = true;
      this.log(
        "server",
        () => `The server answers: version ${server.version ?? "unknown"}`,
        "info",
      );
    }
    if (this.#level === "debug") {
      const why = reason === undefined ? "" : `: ${reason}`;
      const text = `Delivered ${delivered} records in ${requests} requests, ${retries} of them retries${why}`;
      logThrough(this.#logger, "debug", text);
    }
  }
}

/** Logs, now. */
export function logThrough(logger: Logger, level: MessageLevel, message: string): void {
  try {
    const text = `[millrace] ${toPrintable(message)}`;
    if (logger[level] === undefined) {
      logger.warn(text);
    } else {
      logger[level](text);
    }
  } catch {
    // A logger that throws must not reach the program; what is lost is counted elsewhere.
  }
}

/** The faults of the environment that were reported to each logger. */
const reportedFaults = new WeakMap<Logger, Set<string>>();

/** Logs what was wrong with the environment, each fault once, however many clients read it. */
export function logFaults(
  faults: readonly EnvironmentFault[],
  logger: Logger,
  level: LogLevel,
): void {
  const reported = reportedFaults.get(logger) ?? new Set();
  reportedFaults.set(logger, reported);
  for (const { message, effect } of faults) {
    const weight = effect === "default" ? "warn" : "error";
    if (!reported.has(message) && isLogged(weight, level)) {
      reported.add(message);
      logThrough(logger, weight, message);
    }
  }
}

/** Where warnings go by default: standard error. */
export const consoleLogger: Logger = {
  warn(message) {
    process.stderr.write(`${message}\n`);
  },
};

import { channel } from "node:diagnostics_channel";
import type { Channel } from "node:diagnostics_channel";
import type { EnvironmentFault } from "../model/options/environment.ts";
import { isLogged } from "../model/options/log-level.ts";
import type { LogLevel, MessageLevel } from "../model/options/log-level.ts";
import { toPrintable } from "../model/printable-text.ts";
import { resolveOptions } from "../model/options/options.ts";
import type { PlainOptions } from "../model/options/option-table.ts";
import type { ShipReport } from "../model/records/shipping.ts";
import { lossTexts } from "../model/stats.ts";
import type { Logger, LossReason } from "../model/stats.ts";
import type { TruncationReason } from "../tracing/queue/ledger.ts";
import { NextTurn } from "../model/next-turn.ts";

/** The outcomes that diagnostics channels report. The channel of an outcome is named `millrace:<name>`. */
export type OutcomeChannel = "delivered" | "rejected" | "dropped" | "spooled" | "retried";

/** Subscribe with node:diagnostics_channel to receive each outcome. */
const channels: Readonly<Record<OutcomeChannel, Channel>> = {
  delivered: channel("millrace:delivered"),
  rejected: channel("millrace:rejected"),
  dropped: channel("millrace:dropped"),
  spooled: channel("millrace:spooled"),
  retried: channel("millrace:retried"),
};

/**
 * The log message for each reason why something was truncated or left out. Each case is counted in `stats().truncated`.
 */
const truncationTexts: Readonly<Record<TruncationReason, string>> = {
  field: "A field was truncated at its limit (maxFieldBytes); the rest of the run is sent",
  run: "Fields of a run that exceeded the server's size limit were left out; the rest of the run was delivered",
  attachment:
    "Attachments were left out; a text or an event in place of each gives the reason, and the rest of the run was delivered",
};

/**
 * Returns the log message about truncated fields or omitted attachments. `sendsSpans` states whether the client sends
 * spans instead of runs.
 */
export const describeTruncation = (reason: TruncationReason, sendsSpans: boolean): string =>
  sendsSpans && reason === "attachment"
    ? "Attachments were left out, because spans have no attachments (the option otlp); an event in their place describes each, and the rest of the run was delivered"
    : truncationTexts[reason];

/** The options that determine where runs are sent. */
type RecordingTarget = Pick<PlainOptions, "enabled" | "endpoint" | "projectName" | "spoolDir">;

/** The options of a client that decide what it logs. */
type LogOptions = Pick<PlainOptions, "logLevel" | "logRepeatMs">;

/** Options of {@link Reporter}. */
export interface ReporterOptions {
  /** @defaultValue the log options of a client without options */
  readonly options?: LogOptions;
  /** Describes the last failure of a request. It is appended to each message about lost records. */
  readonly describeLastFailure?: () => string | undefined;
}

/**
 * Reports problems, and what happened to records (for example that they were dropped): in the log, at most once per
 * `logRepeatMs` for each kind of message, and always in the diagnostics channels.
 */
export class Reporter {
  readonly #logger: Logger;
  readonly #options: LogOptions;
  readonly #readClock: () => number;
  readonly #describeLastFailure: () => string | undefined;
  readonly #nextLogTimes = new Map<string, number>();
  readonly #unloggedLosses = new Map<LossReason, number>();
  /** Numbers of lost records that will be published and logged in the next turn of the event loop. */
  readonly #unpublishedLosses = new Map<LossReason, number>();
  #unreportedSpooled = 0;
  readonly #postponedMessages = new Map<string, string>();
  readonly #reportTurn = new NextTurn(() => this.#reportPostponed());
  #timer: NodeJS.Timeout | undefined;
  #hasLoggedServer = false;
  /**
   * How losses are reported: `wait` for the next turn of the event loop, or, when the process ends, `log` the next loss
   * at once. `logged`: that was done.
   */
  #lateLosses: "wait" | "log" | "logged" = "wait";

  constructor(
    logger: Logger,
    now: () => number,
    {
      options = resolveOptions({}, {}),
      describeLastFailure = () => undefined,
    }: ReporterOptions = {},
  ) {
    this.#logger = logger;
    this.#options = options;
    this.#readClock = now;
    this.#describeLastFailure = describeLastFailure;
  }

  /** Logs where runs are sent, at the level `info`. */
  logStart({ enabled, endpoint, projectName, spoolDir }: RecordingTarget): void {
    const spool = spoolDir === undefined ? "" : `, spool ${spoolDir}`;
    const text = enabled
      ? `Recording to ${endpoint}, project ${projectName}${spool}`
      : "Tracing is off: nothing is recorded";
    this.log("begin", () => text, "info");
  }

  /** Publishes an outcome. `facts` must not contain inputs or outputs. */
  publish(name: OutcomeChannel, facts: Readonly<Record<string, unknown>>): void {
    const target = channels[name];
    if (target.hasSubscribers) {
      target.publish(facts);
    }
  }

  /**
   * Reports a loss in the next turn of the event loop, together with other losses for the same reason. The loss is
   * logged in that turn, or later if a loss for the same reason was logged within the last `logRepeatMs`.
   *
   * Nothing is reported in this call itself, because a recording call may report a loss when the program's stack is
   * exhausted. If the exhausted stack interrupted a write to standard error or a subscriber of a channel, that stream
   * or subscriber could be left broken or end the process.
   */
  reportLoss(reason: LossReason, records: number): void {
    if (this.#lateLosses !== "wait") {
      this.#reportLateLoss();
      return;
    }
    this.#reportTurn.request();
    this.#unpublishedLosses.set(reason, (this.#unpublishedLosses.get(reason) ?? 0) + records);
  }

  /** Must be called when the process ends: no turn of the event loop follows in which losses could be reported. */
  endWithProcess(): void {
    this.#lateLosses = "log";
  }

  #reportLateLoss(): void {
    if (this.#lateLosses === "log") {
      this.#lateLosses = "logged";
      const text =
        "Lost records that were recorded in a listener of the process event `exit` after the client had ended. Record them before, or add the listener before the client is created";
      this.log("late", () => text, "error");
    }
  }

  /** Reports, in the next turn of the event loop like {@link reportLoss}, that records were written to the spool. */
  reportSpooled(records: number): void {
    this.#reportTurn.request();
    this.#unreportedSpooled += records;
  }

  /** Logs in the next turn of the event loop, as {@link reportLoss} does. */
  logLater(kind: string, message: string): void {
    this.#reportTurn.request();
    this.#postponedMessages.set(kind, message);
  }

  /** Publishes and logs what was reported in recording calls. */
  #reportPostponed(): void {
    for (const [kind, message] of this.#postponedMessages) {
      this.log(kind, () => message);
    }
    this.#postponedMessages.clear();
    if (this.#unreportedSpooled > 0) {
      const records = this.#unreportedSpooled;
      this.#unreportedSpooled = 0;
      this.publish("spooled", { records });
      this.log("spooled", () => `${records} records were written to the spool`, "info");
    }
    const losses = [...this.#unpublishedLosses];
    this.#unpublishedLosses.clear();
    for (const [reason, records] of losses) {
      this.publish("dropped", { reason, records });
      // For the reason `misconfigured`, the invalid variable was logged when the client was created.
      if (reason !== "misconfigured") {
        this.#unloggedLosses.set(reason, (this.#unloggedLosses.get(reason) ?? 0) + records);
        this.log(reason, () => this.#takeLossText(reason), "error");
      }
    }
    if (this.#unloggedLosses.size > 0 && this.#timer === undefined) {
      this.#timer = setTimeout(() => this.logRemaining(), this.#options.logRepeatMs);
      // The timer is unref'd: if the process ends earlier, the remaining losses are logged when the client closes.
      this.#timer.unref();
    }
  }

  /** Logs everything that was not logged yet. */
  logRemaining(): void {
    this.#reportTurn.cancel();
    this.#reportPostponed();
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const reason of this.#unloggedLosses.keys()) {
      this.#nextLogTimes.delete(reason);
      this.log(reason, () => this.#takeLossText(reason), "error");
    }
  }

  #takeLossText(reason: LossReason): string {
    const records = this.#unloggedLosses.get(reason) ?? 0;
    this.#unloggedLosses.delete(reason);
    const failure = this.#describeLastFailure();
    return [
      `Lost ${records} record${records === 1 ? "" : "s"} (${reason}): ${lossTexts[reason]}`,
      ...(failure === undefined ? [] : [failure]),
    ].join(". ");
  }

  /** Logs unless `kind` was logged within the last `logRepeatMs`. A recording call uses {@link logLater} instead. */
  log(kind: string, message: () => string, level: MessageLevel = "warn"): void {
    if (!isLogged(level, this.#options.logLevel)) {
      return;
    }
    const now = this.#readClock();
    if (now < (this.#nextLogTimes.get(kind) ?? Number.NEGATIVE_INFINITY)) {
      return;
    }
    this.#nextLogTimes.set(kind, now + this.#options.logRepeatMs);
    logThrough(this.#logger, level, message());
  }

  /** Reports the results of sending one tape (a buffer of records). Every delivery is logged at the level `debug`. */
  reportShipment({ delivered, requests, retries, reason, server }: ShipReport): void {
    if (delivered > 0) {
      this.publish("delivered", { records: delivered });
    }
    if (retries > 0) {
      this.publish("retried", { retries, reason });
    }
    if (server !== undefined && !this.#hasLoggedServer) {
      this.#hasLoggedServer = true;
      this.log(
        "server",
        () => `Connected to the server, version ${server.version ?? "unknown"}`,
        "info",
      );
    }
    if (this.#options.logLevel === "debug") {
      const suffix = reason === undefined ? "" : `: ${reason}`;
      const text = `Delivered ${delivered} records in ${requests} requests, ${retries} of them retries${suffix}`;
      logThrough(this.#logger, "debug", text);
    }
  }
}

/** Logs a message immediately. Never throws. */
export function logThrough(logger: Logger, level: MessageLevel, message: string): void {
  try {
    const text = `[millrace] ${toPrintable(message)}`;
    // A logger that is not checked by TypeScript may return a promise.
    const result: unknown = logger[level] === undefined ? logger.warn(text) : logger[level](text);
    if (result instanceof Promise) {
      // Without a handler, a rejection would end the process.
      result.catch(() => undefined);
    }
  } catch {
    // A logger that throws must not affect the program. Losses are counted independently of it.
  }
}

/** For each logger: the messages about invalid environment variables that it has already logged. */
const reportedFaults = new WeakMap<Logger, Set<string>>();

/**
 * Logs the messages about invalid environment variables. A logger gets each message once, even if several clients read
 * the variable.
 */
export function logFaults(
  faults: readonly EnvironmentFault[],
  logger: Logger,
  level: LogLevel,
): void {
  const reportedMessages = reportedFaults.get(logger) ?? new Set();
  reportedFaults.set(logger, reportedMessages);
  for (const { message, effect } of faults) {
    const messageLevel = effect === "default" ? "warn" : "error";
    if (!reportedMessages.has(message) && isLogged(messageLevel, level)) {
      reportedMessages.add(message);
      logThrough(logger, messageLevel, message);
    }
  }
}

/** The default logger, which writes to standard error. */
export const consoleLogger: Logger = {
  warn(message) {
    process.stderr.write(`${message}\n`);
  },
};

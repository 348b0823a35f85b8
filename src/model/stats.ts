import type { ErrorCode } from "./errors.ts";
import type { PromptSourceCounts } from "./resources/runtime-prompt.ts";
import type { ServerInfo } from "./resources/server-info.ts";

/**
 * Why a record (the start or end of a run) was not delivered. Every lost record is counted under exactly one reason.
 * docs/delivery.md says when each reason applies.
 */
export const lossReasons = [
  "queueFull",
  "rejected",
  "expired",
  "closed",
  "workerLost",
  "quarantined",
  "invalid",
  "unencodable",
  "spoolFull",
  "spoolLost",
  "misconfigured",
  "openLimit",
  "unended",
  "startMissing",
] as const;

/** One of {@link lossReasons}. */
export type LossReason = (typeof lossReasons)[number];

/** The text that the log shows for each reason. */
export const lossTexts: Readonly<Record<LossReason, string>> = {
  queueFull: "the queue is full (maxQueueBytes, maxQueueRecords)",
  rejected: "the server refused them",
  expired: "every attempt failed",
  closed: "the client was closed, or the process ended, before they were sent",
  workerLost: "workers crashed repeatedly while they had the records",
  quarantined:
    "workers crashed or hung while they wrote the records, or the records can't be written as JSON",
  invalid: "the runs were malformed: invalid id or dotted order",
  unencodable: "the records could not be encoded",
  spoolFull: "the spool's quota was reached (spoolQuotaBytes)",
  spoolLost: "the spool's files were removed or damaged",
  misconfigured: "an environment variable with the server's address or credentials is invalid",
  openLimit:
    "too many runs were open, and the option otlp keeps a run until it ends (maxQueueBytes, maxQueueRecords)",
  unended:
    "the runs had not ended when the client was closed or the process ended, and the option otlp sends only ended runs",
  startMissing:
    "the start of the run was lost, or the run was sent already, and the option otlp sends only whole runs",
};

/**
 * Quantiles of a duration in milliseconds. The error is at most one percent. Durations above one
 * hour count as one hour.
 */
export interface Quantiles {
  readonly count: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

/** The last failure to send records. */
export interface DeliveryFailure {
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  /** The attempted action and its result, on one line. */
  readonly cause: string;
  readonly code?: ErrorCode;
  /** HTTP status of the response, if there was one. */
  readonly status?: number;
  /** The address of the server, without credentials. */
  readonly endpoint: string;
}

/** The counts of a client that concern its records. */
export type RecordingStats = Omit<ClientStats, "prompts">;

/**
 * Counts of all recorded data, in records: the start of a run is one record, its end another.
 * While nothing changes, `accepted = delivered + rejected + dropped + spooled + pending`.
 */
export interface ClientStats {
  readonly accepted: number;
  readonly delivered: number;
  /** Records that the server refused permanently. */
  readonly rejected: number;
  /** Records that were lost for any other reason. */
  readonly dropped: number;
  /**
   * Records on disk in `spoolDir`, to be sent later by this client or by the next client with that folder.
   */
  readonly spooled: number;
  /** Records in memory or being sent. */
  readonly pending: number;
  /** The records in `rejected` and `dropped`, by reason. A reason that never occurred has the count 0. */
  readonly lost: Readonly<Record<LossReason, number>>;
  /**
   * Traces that were not recorded because of sampling, counted once for each root run or remote parent. They are not
   * included in `accepted`.
   */
  readonly sampledOut: number;
  /**
   * Fields that were truncated because of their size, limited by `maxFieldBytes` or by the server.
   */
  readonly truncated: number;
  /** Matches that the rules of the option `redact` masked. */
  readonly redacted: number;
  /** Total bytes of all recorded data as encoded in memory, and of all request bodies as sent. */
  readonly bytes: { readonly recorded: number; readonly sent: number };
  readonly requests: number;
  readonly retries: number;
  /** Time from the moment a tape (a buffer of records) is closed until the response for the last of its records. */
  readonly deliveryMs: Quantiles;
  /** Calls of `prompts.get` and `client.sync.prompts.get`, by the source of their result. */
  readonly prompts: PromptSourceCounts;
  /** Warnings by kind, such as `malformedHeaders`. */
  readonly warnings: Readonly<Record<string, number>>;
  /**
   * The last failure of a request. It is set as soon as a request fails, and stays set after later successes; absent if
   * no request failed.
   */
  readonly lastFailure?: DeliveryFailure;
  /** The server's response to `GET /info`; absent until it was read. */
  readonly server?: ServerInfo;
}

/** Counts of recorded data by outcome. */
export interface FlushCount {
  readonly delivered: number;
  /**
   * Records that were still in memory when the time limit was reached. With `otlp`, also the records of runs that have
   * not ended.
   */
  readonly pending: number;
  /** Records that were rejected, dropped or spooled. */
  readonly lost: number;
}

/**
 * Result of `flush`, `drain` and `close`: the outcome of everything that was recorded before the
 * call and not reported as delivered or lost by an earlier call. Counted in records: the start of a
 * run is one record, its end another.
 */
export interface FlushResult extends FlushCount {
  /**
   * The same counts, but of runs instead of records. A run is counted once, by its start. If only the end of a run is
   * lost, only the counts of records show the loss.
   */
  readonly runs: FlushCount;
}

/**
 * Receives log messages, which never contain API keys, inputs or outputs. Messages of a level for which the logger has
 * no function go to `warn`.
 */
export interface Logger {
  warn(message: string): void;
  error?(message: string): void;
  info?(message: string): void;
  debug?(message: string): void;
}

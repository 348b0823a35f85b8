import type { ErrorCode } from "./errors.ts";
import type { ServerInfo } from "./resources/server-info.ts";

/** Why a record did not arrive. Every loss is counted under exactly one of these. */
export const lossReasons = [
  /** The queue's bound was reached. */
  "queueFull",
  /** The server refused it for good. */
  "rejected",
  /** Every attempt failed, or time ran out. */
  "expired",
  /** Recorded after `close()`, or undelivered when the client closed or the process ended. */
  "closed",
  /** Workers died while it was under way, time and again, and not by its doing as far as is known. */
  "workerLost",
  /** Workers died or hung as they wrote it, twice, or it could not be written: set aside for its neighbours' sake. */
  "quarantined",
  /** Not a run: an id that is no UUID, or a dotted order that contradicts it. */
  "invalid",
  /** Could not be encoded. */
  "unencodable",
  /** It was spooled, and the spool's quota had the oldest go. */
  "spoolFull",
  /** It was spooled, and its file was removed or damaged. */
  "spoolLost",
  /** Nothing may be sent: a variable that names the server, or what proves who is asking, can't be read. */
  "misconfigured",
] as const;

export type LossReason = (typeof lossReasons)[number];

/** Quantiles of a duration, milliseconds: off by a percent at most; an hour and more counts as an hour. */
export interface Quantiles {
  readonly count: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

/** Why records could not be sent, the last time that this was so. */
export interface DeliveryFailure {
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  /** What was attempted and what came back, on one line. */
  readonly cause: string;
  readonly code?: ErrorCode;
  /** Of the response, where there was one. */
  readonly status?: number;
  /** Where they were sent; holds no credentials. */
  readonly endpoint: string;
}

/**
 * What became of all that was recorded, counted in records: a start is one, an end is one.
 * At every quiet moment `accepted = delivered + rejected + dropped + spooled + pending`.
 */
export interface ClientStats {
  readonly accepted: number;
  readonly delivered: number;
  /** Refused by the server for good. */
  readonly rejected: number;
  /** Lost for any other reason. */
  readonly dropped: number;
  /** On disk in `spoolDir`, to be sent later: by this client, or by the next with that folder. */
  readonly spooled: number;
  /** In memory or under way. */
  readonly pending: number;
  /** `rejected + dropped`, by reason; a reason that never occurred is 0. */
  readonly lost: Readonly<Record<LossReason, number>>;
  /** Trees of runs that sampling left out, one for each root or remote parent: never accepted. */
  readonly sampledOut: number;
  /** Fields of which a part was left out, for their size: `maxFieldBytes`, or what the server takes. */
  readonly truncated: number;
  /** Places that the rules of the option `redact` masked. */
  readonly redacted: number;
  /** Bytes on tapes, and bytes of request bodies as sent. */
  readonly bytes: { readonly recorded: number; readonly sent: number };
  readonly requests: number;
  readonly retries: number;
  /** From the cut of a tape to the answer for the last of its records. */
  readonly deliveryMs: Quantiles;
  /** Warnings by kind, such as `malformedHeaders`. */
  readonly warnings: Readonly<Record<string, number>>;
  /** Why a request last failed, known at once and kept from then on; absent where none failed. */
  readonly lastFailure?: DeliveryFailure;
  /** The content of `/info`; absent until it was read. */
  readonly server?: ServerInfo;
}

/** What became of what was recorded. */
export interface FlushCount {
  readonly delivered: number;
  /** Still in memory when the time was up. */
  readonly pending: number;
  /** Rejected, dropped or spooled. */
  readonly lost: number;
}

/**
 * What `flush`, `drain` and `close` answer: what became of all that was recorded before the call, and was not
 * reported as delivered or lost by an earlier one. In records: a start is one, an end is one.
 */
export interface FlushResult extends FlushCount {
  /** The same in runs. A run is counted once, by its start; an end that is lost shows in the records. */
  readonly runs: FlushCount;
}

/**
 * Where messages go. Keys, inputs and outputs never do. `warn` takes the levels that have no function of
 * their own.
 */
export interface Logger {
  warn(message: string): void;
  error?(message: string): void;
  info?(message: string): void;
  debug?(message: string): void;
}

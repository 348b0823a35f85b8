import type { Connection } from "../options/connection.ts";
import type { ErrorCode } from "../errors.ts";
import type { RedactionPlan } from "../options/redaction-search.ts";
import type { ContentDeduplicationMode } from "../options/content-deduplication.ts";
import type { OtlpConvention } from "../options/otlp-options.ts";
import type { ServerInfo } from "../resources/server-info.ts";

/** Settings that a worker receives when it starts. */
export interface ShippingOptions {
  readonly connection: Connection;
  readonly attempts: number;
  readonly retryAfterLimitMs: number;
  /** Largest response, in bytes, that an API call reads as a whole. */
  readonly maxResponseBytes: number;
  readonly runtime: RuntimeFacts;
  /** Rules by which a worker masks recorded runs before it sends them; absent if there are none. */
  readonly redaction?: RedactionPlan;
  readonly files: FileRules;
  /**
   * Whether content that appears repeatedly in a trace is sent once and then referenced, to servers
   * that support it.
   */
  readonly contentDeduplication: ContentDeduplicationMode;
  /** Minimum number of bytes from which binary data inside a value becomes an attachment. */
  readonly attachBytesFrom: number;
  /** Set if runs are sent as spans to an OpenTelemetry backend. */
  readonly otlp?: SpanSettings;
  /** Memory of a `SharedTraffic`: counters and the last failures. */
  readonly traffic: SharedArrayBuffer;
}

/** How runs are converted to spans. */
export interface SpanSettings {
  readonly convention: OtlpConvention;
  /** The project of runs that name none. */
  readonly projectName: string;
}

/** Rules for reading files that attachments refer to. */
export interface FileRules {
  readonly areAllowed: boolean;
  readonly limitBytes: number;
}

/**
 * `extra.runtime` of every run: the SDK and the runtime that recorded it. Contains nothing from the
 * environment variables.
 */
export interface RuntimeFacts {
  readonly sdk: string;
  readonly sdk_version: string;
  readonly runtime: string;
  readonly runtime_version: string;
  readonly platform: string;
}

/** A tape (the buffer of recorded runs) that a worker is to send. Its memory is shared, not copied. */
export interface ShipTask {
  /** Identifies the tape in a {@link FailureNotice}. */
  readonly tapeId?: number;
  readonly memory: SharedArrayBuffer;
  /** Offset on the tape where the records end. */
  readonly usedBytes: number;
  /**
   * Offset on the tape of the first record to send. Earlier records are skipped.
   * @defaultValue 0
   */
  readonly from?: number;
  /**
   * Offsets of records that a worker was writing when it crashed. Each of their runs is sent alone,
   * after all others.
   */
  readonly suspectRecords?: readonly number[];
}

/**
 * A message that a worker posts as soon as an attempt to send a tape's records failed. The reason
 * for the failure is in the memory of `SharedTraffic`.
 */
export interface FailureNotice {
  readonly failedTapeId: number;
}

/** One run that the server refused permanently. */
export interface RefusedRun {
  readonly runId: string;
  /** Number of the run's records (its start and its end) that were refused. */
  readonly records: number;
  readonly code: ErrorCode;
  readonly status?: number;
  readonly message: string;
}

/** Results of the redaction rules. */
export interface RedactionCounts {
  /** Number of masked matches. */
  readonly maskedMatches: number;
  /** Number of records that were masked completely because a rule failed on them. */
  readonly failedRecords: number;
}

/**
 * The result of sending a tape, the buffer of recorded runs. The outcome of each record (delivered, rejected, ...) is
 * also stored on the tape, in the fixed bytes at the record's start.
 */
export interface ShipReport {
  readonly delivered: number;
  /** Number of delivered records that the server already had, as far as it reports them; absent if zero. */
  readonly existing?: number;
  /**
   * Number of payloads in delivered runs that were replaced by a marker, a text that says what is missing; absent if
   * zero.
   */
  readonly truncated?: number;
  /** Number of attachments in delivered runs that were replaced by a marker; absent if zero. */
  readonly omittedAttachments?: number;
  /** Results of redaction; absent if no rules are set. */
  readonly redacted?: RedactionCounts;
  readonly refused: readonly RefusedRun[];
  /** Number of records that could not be written as JSON; absent if zero. */
  readonly quarantined?: number;
  /** Number of records for which every attempt failed. */
  readonly undelivered: number;
  /** Whether the attempts failed because the server is unavailable or overloaded. */
  readonly isServerUnavailable: boolean;
  /** Message of the last failure, if there was one. */
  readonly reason?: string;
  /** A warning of an OpenTelemetry backend about spans that it accepted, such as that it shortened them. */
  readonly warning?: string;
  readonly requests: number;
  readonly retries: number;
  /** Number of bytes of the request bodies as they were sent. */
  readonly bytes: number;
  /** The server's response to `GET /info`; absent until it was read. */
  readonly server?: ServerInfo;
}

/** Sends tapes, the buffers of recorded runs, in worker threads, or on this thread if no worker can run. */
export interface TapeShipper {
  /**
   * Rejects only when the worker crashed while it had the tape, or with a RangeError when the tape
   * can't be read.
   */
  ship(task: ShipTask): Promise<ShipReport>;
  /** Ends threads and connections. Tapes that are still being sent are abandoned. */
  close(): Promise<void>;
}

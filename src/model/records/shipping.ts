import type { Connection } from "../options/connection.ts";
import type { ErrorCode } from "../errors.ts";
import type { RedactionPlan } from "../options/redaction-search.ts";
import type { ContentDeduplicationMode } from "../options/content-deduplication.ts";
import type { ServerInfo } from "../resources/server-info.ts";

/** What a worker needs to know once: crosses to it when it starts. */
export interface ShippingOptions {
  readonly connection: Connection;
  readonly attempts: number;
  readonly retryAfterLimitMs: number;
  /** Largest response, in bytes, that the request half reads as a whole. */
  readonly maxResponseBytes: number;
  readonly runtime: RuntimeFacts;
  /** What is masked on each tape before it is read; absent where nothing is. */
  readonly redaction?: RedactionPlan;
  readonly files: FileRules;
  /** Whether content that a trace holds again is named, to a server that takes that. */
  readonly contentDeduplication: ContentDeduplicationMode;
  /** Binary data inside values is an attachment from this size on. */
  readonly attachBytesFrom: number;
  /** Memory of a `SharedTraffic`: counters, and the last failures. */
  readonly traffic: SharedArrayBuffer;
}

/** Which files that attachments name may be read. */
export interface FileRules {
  readonly allowed: boolean;
  readonly limitBytes: number;
}

/** `extra.runtime` of every run: what made it. Holds nothing of the environment. */
export interface RuntimeFacts {
  readonly sdk: string;
  readonly sdk_version: string;
  readonly runtime: string;
  readonly runtime_version: string;
  readonly platform: string;
}

/** One tape, handed over by reference. */
export interface ShipTask {
  /** Names the tape in a {@link FailureNotice}. */
  readonly tapeId?: number;
  readonly memory: SharedArrayBuffer;
  /** Where its records end. */
  readonly used: number;
  /** Where to begin; records before are left alone. @defaultValue 0 */
  readonly from?: number;
  /** Where records begin that a worker died with: each run of them goes alone, after all others. */
  readonly suspectRecords?: readonly number[];
}

/** What a worker posts at once when a try of a tape's records failed; why is in the shared memory. */
export interface FailureNotice {
  readonly failedTape: number;
}

/** One run that the server refused for good. */
export interface RefusedRun {
  readonly runId: string;
  readonly records: number;
  readonly code: ErrorCode;
  readonly status?: number;
  readonly message: string;
}

/** What the rules that mask did. */
export interface Redacted {
  /** Places that were masked. */
  readonly masked: number;
  /** Records of which everything was masked, since a rule failed on them. */
  readonly failed: number;
}

/** What became of a tape. The outcome of each record is also in its head, on the tape. */
export interface ShipReport {
  readonly delivered: number;
  /** Payloads and attachments with a marker in their place, in what was delivered; absent where none. */
  readonly truncated?: number;
  /** What was masked; absent where nothing was. */
  readonly redacted?: Redacted;
  readonly refused: readonly RefusedRun[];
  /** Records that could not be written as JSON; absent where there was none. */
  readonly quarantined?: number;
  /** Records for which every try failed. */
  readonly undelivered: number;
  /** Whether they failed because the server is away or overloaded. */
  readonly away: boolean;
  /** The last failure's message, where there was one. */
  readonly reason?: string;
  readonly requests: number;
  readonly retries: number;
  /** Of request bodies as sent. */
  readonly bytes: number;
  /** The content of `/info`, once it was read. */
  readonly server?: ServerInfo;
}

import type { OrderBytes } from "./order-bytes.ts";
import type { RecordedExchange } from "../../model/records/exchange.ts";
import type { KeyValues, Operation, RunEvent, WirePatch, WirePost } from "../../model/run.ts";

/**
 * The data of a run that is recorded. A `RunTree` implements this interface. The data is read during the call that
 * records it, never later.
 */
export interface RecordedRun {
  readonly id: string;
  readonly traceId: string;
  readonly dottedOrder: string;
  /** @internal The parent's dotted order. The dotted order of this run begins with it. */
  readonly parentOrder: OrderBytes | undefined;
  /** Microseconds since the Unix epoch. */
  readonly startMicros: number;
  readonly parentRunId: string | undefined;
  readonly name: string;
  readonly runType: string;
  readonly projectName: string;
  readonly inputs: unknown;
  readonly outputs: unknown;
  /** Message and stack of the error that the work threw. */
  readonly error: string | undefined;
  /**
   * Attachments by name, as the caller passed them. When the start is recorded, these are the attachments of the start;
   * when the end is recorded, those that were added later.
   */
  readonly attachments: unknown;
  readonly events: readonly RunEvent[] | undefined;
  readonly tags: readonly string[] | undefined;
  readonly metadata: KeyValues | undefined;
  readonly serialized: unknown;
  readonly referenceExampleId: string | undefined;
  /** Microseconds since the Unix epoch; `undefined` while the run is open. */
  readonly endMicros: number | undefined;
  /** Whether tags or metadata differ from those in the start record. */
  readonly detailsChanged: boolean;
}

/**
 * The tags and metadata that all descendants of a run inherit from it: those of a remote run, and the metadata of the
 * options `threadId` and `userId`.
 */
export type InheritedFields = Pick<RecordedRun, "tags" | "metadata">;

/** A body as text, or as bytes in several parts. */
export type ExchangeBody = string | readonly Uint8Array[];

/** An exchange before it is written. Its body is not larger than the limit of a field. */
export type ExchangeContent = Omit<RecordedExchange, "body"> & { readonly body: ExchangeBody };

/** The start or the end of a run that consists of a call of a remote API. */
export interface ExchangeRecord {
  readonly operation: Operation;
  readonly run: RecordedRun;
  /** The name that the caller gave; absent if the exchange determines it. */
  readonly name?: string | undefined;
  /** The run type that the caller gave; absent if the exchange determines it. */
  readonly runType?: string | undefined;
  readonly endMicros?: number;
  /** `null` clears the error of an earlier attempt. */
  readonly error?: string | null | undefined;
  readonly events?: readonly RunEvent[];
  readonly exchanges: readonly ExchangeContent[];
  /** Whether an earlier record has the run's metadata, which this one must not replace. */
  readonly keepsMetadata?: boolean;
}

/** The name under which a warning is counted in `stats().warnings`. */
export type WarningKind =
  | "malformedHeaders"
  | "hiddenFailure"
  | "invalidOption"
  | "childOfEndedRun"
  | "attachmentLeftOut"
  | "attachmentRenamed"
  | "workerStuck"
  | "promptSubstitute"
  | "promptSnapshot"
  | "unknownOption";

/** Records the start and the end of runs. No method throws or blocks. */
export interface Recorder {
  /** The project of each run that does not name its own. */
  readonly projectName: string;
  /** Largest total size of the attachments of one record, in bytes. */
  readonly attachmentBytes: number;
  /** Whether a trace is recorded. The result is the same for all runs of a trace. */
  isSampled(traceId: string): boolean;
  recordStart(run: RecordedRun): void;
  recordEnd(run: RecordedRun): void;
  /** @internal Largest number of bytes that are recorded of the body of one request or response. */
  readonly exchangeBytes?: number;
  /** @internal Records the start or the end of a run that consists of a call of a remote API. */
  recordExchange?(record: ExchangeRecord): void;
  /** @internal Whether an option hides or filters outputs. The events of a stream then contain no tokens. */
  readonly filtersOutputs?: boolean;
  /**
   * @internal Applies the client's options to the tags and metadata that request headers would carry to another
   * process. Absent if no option concerns them. Never throws.
   */
  readonly filterPropagated?: ((fields: InheritedFields) => InheritedFields) | undefined;
  /** Counts a field that was truncated before it was recorded. */
  truncated(): void;
  /** Counts a warning. The client logs warnings of the same kind at most once per `logRepeatMs`. */
  warn(kind: WarningKind, message: string): void;
}

/** The key under which a client holds its {@link Recorder}. For internal use. */
export const recorder = Symbol.for("millrace.recorder");

/** The part of a client that runs use to record themselves. */
export interface TracingClient {
  readonly [recorder]: Recorder;
  createRun(run: WirePost): Promise<void>;
  updateRun(id: string, patch: WirePatch): Promise<void>;
  /** The recursion limit in the configs of LangChain's runnables. @defaultValue 25 */
  readonly recursionLimit?: number | undefined;
}

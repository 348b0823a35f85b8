import type { OrderBytes } from "./order-bytes.ts";
import type { KeyValues, RunEvent, WirePatch, WirePost } from "../../model/run.ts";

/** What the recorder reads of a run; a `RunTree` is one. Read at the call, never later. */
export interface RecordedRun {
  readonly id: string;
  readonly traceId: string;
  readonly dottedOrder: string;
  /** @internal Its parent's; its own is made of it and what follows. */
  readonly parentOrder: OrderBytes | undefined;
  /** Microseconds since the Unix epoch. */
  readonly startMicros: number;
  readonly parentRunId: string | undefined;
  readonly name: string;
  readonly runType: string;
  readonly projectName: string;
  readonly inputs: unknown;
  readonly outputs: unknown;
  /** The message and stack of what the work threw. */
  readonly error: string | undefined;
  /** By name, as they were given: of its start, or those that came later. */
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

/** What a remote run hands down to all runs below it. */
export type Inherited = Pick<RecordedRun, "tags" | "metadata">;

/** What a warning is counted under in `stats().warnings`. */
export type WarningKind =
  | "malformedHeaders"
  | "hiddenFailure"
  | "childOfEndedRun"
  | "attachmentLeftOut"
  | "workerStuck"
  | "unknownOption";

/** Takes the start and the end of runs. No method throws, and none waits. */
export interface Recorder {
  /** Where runs are filed that name no project. */
  readonly projectName: string;
  /** Bytes that may be attached to one record. */
  readonly attachmentBytes: number;
  /** Recursion limit of the runnable configs that a run is turned into for LangChain. */
  readonly recursionLimit: number;
  /** One answer for all runs of a trace. */
  isSampled(traceId: string): boolean;
  recordStart(run: RecordedRun): void;
  recordEnd(run: RecordedRun): void;
  /** Counts a field that was cut before it came here. */
  truncated(): void;
  /** Counts a warning; logs it once a minute. */
  warn(kind: WarningKind, message: string): void;
}

/** The key under which a client holds its {@link Recorder}: wiring, not for callers. */
export const recorder = Symbol.for("millrace.recorder");

/** What a run needs of its client. */
export interface TracingClient {
  readonly [recorder]: Recorder;
  createRun(run: WirePost): Promise<void>;
  updateRun(id: string, patch: WirePatch): Promise<void>;
}

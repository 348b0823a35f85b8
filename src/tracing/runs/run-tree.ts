import type { RunAttachment } from "../../model/records/attachment.ts";
import { defaultRunType } from "../../model/run.ts";
import type { KeyValues, RunEvent } from "../../model/run.ts";
import { createUuid7 } from "../../model/uuid7.ts";
import { clock } from "../../model/clock.ts";
import { uncountedLosses } from "../queue/ledger.ts";
import { formatError } from "../tape/error-text.ts";
import { holdAttachment } from "../tape/held-attachments.ts";
import { OrderBytes } from "../tape/order-bytes.ts";
import { copyEntries, copyEvent } from "../tape/snapshot.ts";
import {
  isPlainObject,
  mergeMetadata,
  mergeTags,
  toMetadata,
  toPayload,
  toTags,
} from "../tape/payload.ts";
import { warnMalformed, readHeaders, writeHeaders } from "./propagation.ts";
import type { HeadersLike, PropagatedRun, RemotePosition } from "./propagation.ts";
import { recorder } from "../tape/recorder.ts";
import type { InheritedFields, RecordedRun, TracingClient } from "../tape/recorder.ts";
import {
  endOptionNames,
  runOptionNames,
  readAttachments,
  readEndTime,
  readInheritedOptions,
  readStartTime,
  readId,
  readName,
  warnOfWrongValues,
} from "./run-options.ts";
import type { RunEnd, EndOptions, RunOptions } from "./run-options.ts";
import { Trace } from "./trace.ts";
import { warnOfUnknown } from "./unknown-options.ts";

/**
 * Counts losses that no client has counted yet, for example because the call stack was exhausted. This is a local
 * reference to the imported object: a bundler may turn an import into a getter, which can't be called on an exhausted
 * stack.
 */
const localUncountedLosses = uncountedLosses;

/** Internal constructor arguments of a run, in addition to its options. */
export interface RunInit {
  readonly client: TracingClient;
  readonly parent?: RunTree | undefined;
  /**
   * The nearest run of the same trace that this process has, whose sampling decision the new run shares.
   *
   * @defaultValue the parent
   */
  readonly nearestRun?: RunTree | undefined;
  readonly remote?: RemotePosition | undefined;
  /**
   * `false`: `RunTree` does not record the start, because the caller does so, or because another library or process
   * records the run.
   */
  readonly recorded: boolean;
}

/**
 * A run and its position in the tree of its trace. States: open, then ended by the first call of `end` or `fail`. It is
 * recorded once when it starts and once when it ends.
 *
 * The methods that record never throw. The program may call one when its call stack is exhausted, and then any function
 * call inside the method can throw a RangeError. The method catches this error and counts what was not recorded.
 *
 * A remote run, created by `RunTree.fromHeaders`, is not recorded: it only serves as the parent of its children.
 */
export class RunTree implements RecordedRun {
  readonly id: string;
  readonly traceId: string;
  /** Absent for the root of a trace. */
  readonly parentRunId: string | undefined;
  /** @internal The parent's dotted order; absent for the root of a trace. */
  readonly parentOrder: OrderBytes | undefined;
  /** Microseconds since the Unix epoch. */
  readonly startMicros: number;
  readonly name: string;
  readonly runType: string;
  readonly projectName: string;
  readonly serialized: unknown;
  readonly referenceExampleId: string | undefined;
  readonly #client: TracingClient;
  readonly #trace: Trace;
  readonly #isRecorded: boolean;
  readonly #isRemote: boolean;
  #order: OrderBytes | undefined;
  #inherited: InheritedFields | undefined;
  #endMicros: number | undefined;
  #inputs: KeyValues | undefined;
  #outputs: KeyValues | undefined;
  #error: string | undefined;
  #events: RunEvent[] | undefined;
  /** The attachments to send with the next record of this run, its start or its end. */
  #attachments: unknown;
  #tags: readonly string[] | undefined;
  #metadata: KeyValues | undefined;
  /** Whether tags or metadata were added after the run's start was recorded. */
  #detailsChanged = false;

  /** For internal use. Programs create runs with `new RunTree()` of new-run-tree.ts, `client.startRun` and the like. */
  constructor(init: RunInit, options: RunOptions) {
    const { client, parent, nearestRun = parent, remote } = init;
    const runRecorder = client[recorder];
    const now = clock();
    this.id = remote?.id ?? readId(options.id, runRecorder) ?? createUuid7(now / 1_000);
    this.traceId = remote?.traceId ?? parent?.traceId ?? this.id;
    this.#trace =
      nearestRun === undefined ? new Trace(runRecorder.isSampled(this.traceId)) : nearestRun.#trace;
    this.runType = readName(options.runType) ?? defaultRunType;
    this.name = readName(options.name) ?? this.runType;
    this.projectName = readName(options.projectName) ?? (parent ?? runRecorder).projectName;
    this.serialized = options.serialized;
    this.referenceExampleId = readId(options.referenceExampleId, runRecorder);
    this.#client = client;
    this.#isRemote = remote !== undefined;
    this.#isRecorded = init.recorded && this.#trace.isSampled;
    // Read inputs and attachments only if the run is recorded, because their getters may do work.
    this.#inputs = this.#isRecorded ? toPayload(options.inputs, "input") : undefined;
    this.#attachments = this.#isRecorded ? options.attachments : undefined;
    this.#tags = toTags(options.tags);
    this.#metadata = toMetadata(options.metadata);
    this.parentOrder = parent === undefined ? undefined : parent.#computeOrder();
    if (remote === undefined) {
      this.startMicros = readStartTime(options.startTime) ?? this.#trace.assignStart(now);
      warnOfWrongValues(options, runRecorder);
      this.parentRunId = parent?.id;
      if (parent !== undefined) {
        this.#inherit(parent);
      }
      const ownFields = readInheritedOptions(options, runRecorder);
      if (ownFields !== undefined) {
        const { tags, metadata } = this.#inherited ?? {};
        this.#inherited = { tags, metadata: mergeMetadata(metadata, ownFields) };
        // `ownFields` is merged twice: first, because the first argument must be readable, which the caller's metadata
        // may not be; and last, because the options take precedence.
        this.#metadata = mergeMetadata(mergeMetadata(ownFields, this.#metadata), ownFields);
      }
    } else {
      this.startMicros = remote.startMicros;
      this.#trace.requireStartAfter(remote.startMicros);
      this.#order = OrderBytes.fromText(remote.dottedOrder);
      this.parentRunId = remote.parentRunId;
      this.#inherited = { tags: this.#tags, metadata: this.#metadata };
      // Children of another library's run also inherit what its nearest Millrace ancestor passes on.
      if (nearestRun !== undefined && nearestRun.#inherited !== undefined) {
        const { tags, metadata } = nearestRun.#inherited;
        this.#inherited = {
          tags: mergeTags(tags, this.#tags),
          metadata: mergeMetadata(metadata, this.#metadata),
        };
      }
    }
  }

  /** @internal Creates a run, and records its start if `init.recorded` is true and its trace is sampled. */
  static start(init: RunInit, options: RunOptions): RunTree {
    const runRecorder = init.client[recorder];
    let run: RunTree;
    try {
      run = new RunTree(init, options);
    } catch {
      runRecorder.warn("hiddenFailure", "The options of a run can't be read; they were ignored.");
      run = new RunTree(init, {});
    }
    if (run.#isRecorded) {
      runRecorder.recordStart(run);
      run.#attachments = undefined;
    }
    return run;
  }

  /**
   * Reads the parent run that another process sent in request headers. Returns `undefined` if the headers contain no
   * run or a malformed one. A malformed one is counted as a warning. Children of the returned run belong to its trace
   * and inherit its tags, metadata and project.
   */
  static fromHeaders(
    headers: HeadersLike,
    { client }: { readonly client: TracingClient },
  ): RunTree | undefined {
    const context = readHeaders(headers, warnMalformed(client[recorder]));
    if (context === undefined) {
      return undefined;
    }
    const { position: remote, ...options } = context;
    return new RunTree({ client, remote, recorded: false }, { ...options, name: "remote" });
  }

  /** Starts a child of this run and records it at once. */
  startChild(options: RunOptions = {}): RunTree {
    try {
      warnOfUnknown(options, runOptionNames, this.#client[recorder]);
      return RunTree.start({ client: this.#client, parent: this, recorded: true }, options);
    } catch {
      localUncountedLosses.records += 1;
      return noopRun;
    }
  }

  /**
   * Adds an event with the time of the call. Plain objects and arrays in it are copied during the call; the event is
   * sent with the run's end. Ignored after the run ended.
   */
  addEvent(event: RunEvent): void {
    try {
      const copy = this.#isOpen() ? copyEvent(event, this.#client[recorder]) : undefined;
      if (copy !== undefined) {
        (this.#events ??= []).push(copy);
      }
    } catch {
      localUncountedLosses.details += 1;
    }
  }

  /**
   * Attaches binary data, which is copied during the call and sent with the run's end. It replaces an earlier
   * attachment of the same name. Ignored after the run ended.
   */
  addAttachment(name: string, attachment: RunAttachment): void {
    try {
      if (this.#isOpen() && this.#isRecorded) {
        const runRecorder = this.#client[recorder];
        this.#attachments = holdAttachment(this.#attachments, { name, attachment, runRecorder });
      }
    } catch {
      localUncountedLosses.details += 1;
    }
  }

  /** Adds tags; duplicates are kept once. Ignored after the run ended. */
  addTags(...tags: readonly string[]): void {
    try {
      if (this.#isOpen()) {
        this.#tags = mergeTags(this.#tags, toTags(tags));
        this.#detailsChanged = true;
      }
    } catch {
      localUncountedLosses.details += 1;
    }
  }

  /** Adds metadata; existing keys are overwritten. Ignored after the run ended. */
  addMetadata(metadata: KeyValues): void {
    try {
      if (this.#isOpen() && isPlainObject(metadata)) {
        this.#metadata = { ...this.#metadata, ...copyEntries(metadata, this.#client[recorder]) };
        this.#detailsChanged = true;
      }
    } catch {
      localUncountedLosses.details += 1;
    }
  }

  /**
   * Ends the run. An output that is not a plain object is recorded as `{ outputs: value }`. Ignored after the run
   * ended.
   */
  end(outputs?: unknown, options?: EndOptions): void {
    try {
      this.#recordEnd({ outputs, options });
    } catch {
      localUncountedLosses.records += 1;
    }
  }

  /** Ends the run as failed. The error's message, stack and causes are recorded. Ignored after the run ended. */
  fail(error: unknown, outputs?: unknown, options?: EndOptions): void {
    try {
      if (this.#isOpen()) {
        const text = formatError(error, () => this.#client[recorder].truncated());
        this.#recordEnd({ outputs, error: text, options });
      }
    } catch {
      localUncountedLosses.records += 1;
    }
  }

  /**
   * Returns `existing` with headers added that make this run the parent of runs in another process. Entries of other
   * vendors in the header `baggage` are kept. The options `hideMetadata` and `redact` apply to the tags and metadata
   * that the headers carry.
   */
  toHeaders(existing?: HeadersLike): Record<string, string> {
    const runRecorder = this.#client[recorder];
    const { filterPropagated } = runRecorder;
    const run: PropagatedRun =
      filterPropagated === undefined
        ? this
        : {
            dottedOrder: this.dottedOrder,
            projectName: this.projectName,
            ...filterPropagated({ tags: this.#tags, metadata: this.#metadata }),
          };
    return writeHeaders(run, existing, warnMalformed(runRecorder));
  }

  /**
   * The run's ancestry as a sortable text: a segment `<start time><id>` for each run from the root to this one, joined
   * by dots. A child's text begins with its parent's.
   */
  get dottedOrder(): string {
    return this.#computeOrder().text;
  }

  get inputs(): KeyValues | undefined {
    return this.#inputs;
  }

  get outputs(): KeyValues | undefined {
    return this.#outputs;
  }

  get error(): string | undefined {
    return this.#error;
  }

  get events(): readonly RunEvent[] | undefined {
    return this.#events;
  }

  get attachments(): unknown {
    return this.#attachments;
  }

  get tags(): readonly string[] | undefined {
    return this.#tags;
  }

  get metadata(): KeyValues | undefined {
    return this.#metadata;
  }

  get endMicros(): number | undefined {
    return this.#endMicros;
  }

  get detailsChanged(): boolean {
    return this.#detailsChanged;
  }

  /** Milliseconds since the Unix epoch, with microsecond fraction. */
  get startedAt(): number {
    return this.startMicros / 1_000;
  }

  /** Milliseconds since the Unix epoch, with microsecond fraction; `undefined` while the run is open. */
  get endedAt(): number | undefined {
    return this.#endMicros === undefined ? undefined : this.#endMicros / 1_000;
  }

  /** Whether this run's trace is recorded. All runs of a trace share one sampling decision. */
  get sampled(): boolean {
    return this.#trace.isSampled;
  }

  /** The client that records this run and its children. */
  get client(): TracingClient {
    return this.#client;
  }

  /** Returns the fields that identify this run, without payloads and client. */
  toJSON(): KeyValues {
    const { id, traceId, parentRunId, dottedOrder, name, runType, projectName } = this;
    const identity = { id, traceId, parentRunId, dottedOrder, name };
    return { ...identity, runType, projectName, startedAt: this.startedAt, endedAt: this.endedAt };
  }

  #computeOrder(): OrderBytes {
    return (this.#order ??= OrderBytes.fromPosition(this));
  }

  #inherit(parent: RunTree): void {
    const inherited = parent.#inherited;
    if (inherited !== undefined) {
      this.#inherited = inherited;
      this.#tags = mergeTags(inherited.tags, this.#tags);
      this.#metadata = mergeMetadata(inherited.metadata, this.#metadata);
    }
    if (parent.#endMicros !== undefined) {
      this.#client[recorder].warn(
        "childOfEndedRun",
        "A run was started as a child of a run that had already ended.",
      );
    }
  }

  #isOpen(): boolean {
    return this.#endMicros === undefined && !this.#isRemote;
  }

  #recordEnd({ outputs, error, options }: RunEnd): void {
    if (!this.#isOpen()) {
      return;
    }
    if (options !== undefined) {
      warnOfUnknown(options, endOptionNames, this.#client[recorder]);
    }
    this.#endMicros = Math.max(readEndTime(options) ?? clock(), this.startMicros);
    this.#error = error;
    this.#outputs = toPayload(outputs, "outputs");
    if (this.#isRecorded) {
      this.#attachments = readAttachments(this.#attachments, options);
      this.#client[recorder].recordEnd(this);
    }
    // If the run is recorded, its payloads were copied by `recordEnd`. Release them: the program may keep the run.
    this.#inputs = undefined;
    this.#outputs = undefined;
    this.#events = undefined;
    this.#attachments = undefined;
  }
}

const doNothing = (): void => undefined;

/** A client that records nothing. Used when no client is configured. */
export const noopClient: TracingClient = {
  [recorder]: {
    projectName: "default",
    attachmentBytes: 0,
    isSampled: () => false,
    recordStart: doNothing,
    recordEnd: doNothing,
    truncated: doNothing,
    warn: doNothing,
  },
  createRun: () => Promise.resolve(),
  updateRun: () => Promise.resolve(),
};

const noopId = "00000000-0000-7000-8000-000000000000";

const noopPosition: RemotePosition = {
  id: noopId,
  traceId: noopId,
  parentRunId: undefined,
  dottedOrder: `19700101T000000000000Z${noopId}`,
  startMicros: 0,
};

/** Takes the place of a run that could not be created. Neither it nor its children are recorded. */
export const noopRun: RunTree = new RunTree(
  { client: noopClient, remote: noopPosition, recorded: false },
  {},
);

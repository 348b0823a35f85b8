import type { RunAttachment } from "../../model/records/attachment.ts";
import { defaultRunType } from "../../model/run.ts";
import type { KeyValues, RunEvent } from "../../model/run.ts";
import { createUuid7 } from "../../model/uuid7.ts";
import { clock } from "../../model/clock.ts";
import { errorText } from "../tape/error-text.ts";
import { holding } from "../tape/held-attachments.ts";
import { OrderBytes } from "../tape/order-bytes.ts";
import { ownCopy, ownEvent } from "../tape/snapshot.ts";
import {
  isPlainObject,
  mergeMetadata,
  mergeTags,
  toMetadata,
  toPayload,
  toTags,
} from "../tape/payload.ts";
import { malformed, readHeaders, writeHeaders } from "./propagation.ts";
import type { HeadersLike, RemotePosition } from "./propagation.ts";
import { recorder } from "../tape/recorder.ts";
import type { Inherited, RecordedRun, TracingClient } from "../tape/recorder.ts";
import {
  endOptionNames,
  runOptionNames,
  readAttachments,
  readEndTime,
  startTimeOf,
  readId,
  readName,
} from "./run-options.ts";
import type { Ending, EndOptions, RunOptions } from "./run-options.ts";
import { Trace } from "./trace.ts";
import { warnOfUnknown } from "./unknown-options.ts";

/** What a run is made with, beside its options; wiring. */
export interface RunInit {
  readonly client: TracingClient;
  readonly parent?: RunTree | undefined;
  /** A run of the same trace, where it isn't the parent. */
  readonly kin?: RunTree | undefined;
  readonly remote?: RemotePosition | undefined;
  /** `false`: someone else records the run; it only holds a place in the tree. */
  readonly recorded: boolean;
}

/**
 * A run and its place in the tree. States: open, then ended (by `end` or `fail`, whichever comes
 * first). It is recorded once when it starts and once when it ends. No method throws.
 *
 * A remote run, from `RunTree.fromHeaders`, is never recorded itself: it is where its children hang.
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
  readonly #recorded: boolean;
  readonly #remote: boolean;
  #order: OrderBytes | undefined;
  #inherited: Inherited | undefined;
  #endMicros: number | undefined;
  #inputs: KeyValues | undefined;
  #outputs: KeyValues | undefined;
  #error: string | undefined;
  #events: RunEvent[] | undefined;
  /** Those of the record that comes next. */
  #attachments: unknown;
  #tags: readonly string[] | undefined;
  #metadata: KeyValues | undefined;
  #detailsChanged = false;

  /** Wiring: programs make runs by `new RunTree()` of new-run-tree.ts, `client.startRun` and the like. */
  constructor(init: RunInit, options: RunOptions) {
    const { client, parent, kin = parent, remote } = init;
    const recording = client[recorder];
    const now = clock();
    this.id = remote?.id ?? readId(options.id, recording) ?? createUuid7(now / 1_000);
    this.traceId = remote?.traceId ?? parent?.traceId ?? this.id;
    this.#trace = kin === undefined ? new Trace(recording.isSampled(this.traceId)) : kin.#trace;
    this.runType = readName(options.runType) ?? defaultRunType;
    this.name = readName(options.name) ?? this.runType;
    this.projectName = readName(options.projectName) ?? (parent ?? recording).projectName;
    this.serialized = options.serialized;
    this.referenceExampleId = readId(options.referenceExampleId, recording);
    this.#client = client;
    this.#remote = remote !== undefined;
    this.#recorded = init.recorded && this.#trace.sampled;
    // Read only where they are recorded: reading them may be work.
    this.#inputs = this.#recorded ? toPayload(options.inputs, "input") : undefined;
    this.#attachments = this.#recorded ? options.attachments : undefined;
    this.#tags = toTags(options.tags);
    this.#metadata = toMetadata(options.metadata);
    this.parentOrder = parent === undefined ? undefined : parent.#orderBytes();
    if (remote === undefined) {
      this.startMicros = startTimeOf(options.startTime) ?? this.#trace.nextStart(now);
      this.parentRunId = parent?.id;
      if (parent !== undefined) {
        this.#inherit(parent);
      }
    } else {
      this.startMicros = remote.startMicros;
      this.#trace.startAfter(remote.startMicros);
      this.#order = OrderBytes.of(remote.dottedOrder);
      this.parentRunId = remote.parentRunId;
      this.#inherited = { tags: this.#tags, metadata: this.#metadata };
    }
  }

  /** @internal Starts a run and records it, or only takes its place in the tree. */
  static start(init: RunInit, options: RunOptions): RunTree {
    const recording = init.client[recorder];
    let run: RunTree;
    try {
      run = new RunTree(init, options);
    } catch {
      recording.warn("hiddenFailure", "The options of a run could not be read; it has none.");
      run = new RunTree(init, {});
    }
    if (run.#recorded) {
      recording.recordStart(run);
      run.#attachments = undefined;
    }
    return run;
  }

  /**
   * The run that another process sent along; `undefined` where the headers name none, or a malformed one, which is
   * counted as a warning. Runs started below it belong to its trace and inherit its tags, metadata and project.
   */
  static fromHeaders(
    headers: HeadersLike,
    { client }: { readonly client: TracingClient },
  ): RunTree | undefined {
    const context = readHeaders(headers, malformed(client[recorder]));
    if (context === undefined) {
      return undefined;
    }
    const { position: remote, ...options } = context;
    return new RunTree({ client, remote, recorded: false }, { ...options, name: "remote" });
  }

  /** Starts a run below this one and records it at once. */
  startChild(options: RunOptions = {}): RunTree {
    warnOfUnknown(options, runOptionNames, this.#client[recorder]);
    return RunTree.start({ client: this.#client, parent: this, recorded: true }, options);
  }

  /**
   * Adds what happened inside the run, with the time of the call. Sent with its end; what plain objects
   * and arrays hold is copied now. Ignored once ended.
   */
  addEvent(event: RunEvent): void {
    const copy = this.#isOpen() ? ownEvent(event, this.#client[recorder]) : undefined;
    if (copy !== undefined) {
      (this.#events ??= []).push(copy);
    }
  }

  /** Attaches binary data, copied now, to the run's end. Of a name the last counts. Ignored once ended. */
  addAttachment(name: string, attachment: RunAttachment): void {
    if (this.#isOpen() && this.#recorded) {
      const recording = this.#client[recorder];
      this.#attachments = holding(this.#attachments, { name, attachment, recording });
    }
  }

  /** Adds tags; one that is there already stays once. Ignored once ended. */
  addTags(...tags: readonly string[]): void {
    if (this.#isOpen()) {
      this.#tags = mergeTags(this.#tags, toTags(tags));
      this.#detailsChanged = true;
    }
  }

  /** Adds metadata, over what has the same key. Ignored once ended. */
  addMetadata(metadata: KeyValues): void {
    if (this.#isOpen() && isPlainObject(metadata)) {
      this.#metadata = { ...this.#metadata, ...ownCopy(metadata, this.#client[recorder]) };
      this.#detailsChanged = true;
    }
  }

  /** Ends the run. What is no plain object becomes `{ outputs: value }`. Ignored once ended. */
  end(outputs?: unknown, options?: EndOptions): void {
    this.#finish({ outputs, options });
  }

  /** Ends the run as failed: message, stack and causes become its error. Ignored once ended. */
  fail(error: unknown, outputs?: unknown, options?: EndOptions): void {
    if (this.#isOpen()) {
      const told = errorText(error, () => this.#client[recorder].truncated());
      this.#finish({ outputs, error: told, options });
    }
  }

  /** Headers, beside those given, that carry this run to another process. Foreign `baggage` is kept. */
  toHeaders(existing?: HeadersLike): Record<string, string> {
    return writeHeaders(this, existing, malformed(this.#client[recorder]));
  }

  /** Sortable ancestry: `<start><id>` segments joined by dots; a child's begins with its parent's. */
  get dottedOrder(): string {
    return this.#orderBytes().text;
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

  /** As `startedAt`; absent while the run is open. */
  get endedAt(): number | undefined {
    return this.#endMicros === undefined ? undefined : this.#endMicros / 1_000;
  }

  /** Whether this run's trace is kept: one decision for all of its runs. */
  get sampled(): boolean {
    return this.#trace.sampled;
  }

  /** The client that records this run and those below it. */
  get client(): TracingClient {
    return this.#client;
  }

  /** What tells this run from others; neither payloads nor the client. */
  toJSON(): KeyValues {
    const { id, traceId, parentRunId, dottedOrder, name, runType, projectName } = this;
    const identity = { id, traceId, parentRunId, dottedOrder, name };
    return { ...identity, runType, projectName, startedAt: this.startedAt, endedAt: this.endedAt };
  }

  #orderBytes(): OrderBytes {
    return (this.#order ??= OrderBytes.at(this));
  }

  #inherit(parent: RunTree): void {
    const inherited = parent.#inherited;
    if (inherited !== undefined) {
      this.#inherited = inherited;
      this.#tags = mergeTags(inherited.tags, this.#tags);
      this.#metadata = mergeMetadata(inherited.metadata, this.#metadata);
    }
    if (parent.#endMicros !== undefined) {
      this.#client[recorder].warn("childOfEndedRun", "A run was started below an ended one.");
    }
  }

  #isOpen(): boolean {
    return this.#endMicros === undefined && !this.#remote;
  }

  #finish({ outputs, error, options }: Ending): void {
    if (!this.#isOpen()) {
      return;
    }
    if (options !== undefined) {
      warnOfUnknown(options, endOptionNames, this.#client[recorder]);
    }
    this.#endMicros = Math.max(readEndTime(options) ?? clock(), this.startMicros);
    this.#error = error;
    this.#outputs = toPayload(outputs, "outputs");
    if (this.#recorded) {
      this.#attachments = readAttachments(this.#attachments, options);
      this.#client[recorder].recordEnd(this);
    }
    // They are on a tape now: a run that is kept must not keep its payloads.
    this.#inputs = undefined;
    this.#outputs = undefined;
    this.#events = undefined;
    this.#attachments = undefined;
  }
}

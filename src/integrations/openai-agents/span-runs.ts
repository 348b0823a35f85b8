import { markModelCall, RunTree } from "../../main/index.ts";
import type { ClientChoice, KeyValues } from "../../main/index.ts";
import { describeEnd, describeError, describeStart } from "./span-content.ts";
import type { SpanEnd } from "./span-content.ts";
import { findParentSpan, isFields, isOpenSpan } from "./spans.ts";
import type { AgentsSpan, AgentsTrace } from "./spans.ts";

/** Maximum number of open traces, and of open spans. Above it, the oldest trace or span is ended. */
const maxOpen = 10_000;
/** Number of ended spans that are remembered, because spans may still start below them. */
const maxEnded = 1_000;

/** Metadata key of a run that was ended although its span had not ended. */
const unfinishedKey = "millrace_unfinished";

interface SpanPosition {
  readonly traceId: string;
  readonly parent?: SpanRun | undefined;
}

class SpanRun {
  readonly run: RunTree;
  readonly traceId: string;
  readonly parent: SpanRun | undefined;
  /** The input of the first model call below this run. */
  #input: unknown;
  /** The text of the last model call below this run. */
  #text: string | undefined;

  constructor(run: RunTree, { traceId, parent }: SpanPosition) {
    this.run = run;
    this.traceId = traceId;
    this.parent = parent;
  }

  /**
   * Stores the input and the output of a model call for the runs of the agents around it. This stops at a tool, because
   * a tool and the agents around it have their own input and output.
   */
  addModelCall(input: unknown, text: string | undefined): void {
    if (this.run.runType === "tool") {
      return;
    }
    this.#input ??= input;
    this.#text = text ?? this.#text;
    this.parent?.addModelCall(input, text);
  }

  end({ inputs, outputs, metadata }: SpanEnd, { error, endTime }: RunFailure = {}): void {
    const { run } = this;
    const addedInputs = this.#input === undefined ? {} : { input: this.#input };
    recordInputs(run, inputs ?? addedInputs);
    if (metadata !== undefined) {
      run.addMetadata(metadata);
    }
    const endOutputs = outputs ?? (this.#text === undefined ? undefined : { output: this.#text });
    if (error === undefined) {
      run.end(endOutputs, { endTime });
    } else {
      run.fail(error, endOutputs, { endTime });
    }
    // Ended spans are remembered. Release the conversations that they contain.
    this.#input = undefined;
    this.#text = undefined;
  }
}

interface RunFailure {
  readonly error?: string | undefined;
  readonly endTime?: number | undefined;
}

/** The root run that records a trace of the Agents SDK. The runs of its spans are below it. */
class TraceRun extends SpanRun {
  /** The Agents SDK's context inside the trace. The Agents SDK sets its member `active` to false at the end. */
  readonly #context: unknown;
  /** The error and the end time of the last span directly below the trace. */
  #lastEnd: RunFailure = {};

  constructor(run: RunTree, traceId: string, context: unknown) {
    super(run, { traceId });
    this.#context = isFields(context) && context["active"] === true ? context : undefined;
  }

  get isAbandoned(): boolean {
    return isFields(this.#context) && this.#context["active"] !== true;
  }

  rememberEnd(error: string | undefined): void {
    this.#lastEnd = { error, endTime: Date.now() };
  }

  endTrace(): void {
    this.end({}, this.isAbandoned ? this.#lastEnd : {});
  }
}

/** Records inputs that were not known when the run started: the Agents SDK adds most of them later. */
function recordInputs(run: RunTree, inputs: KeyValues): void {
  if (!run.sampled || Object.keys(inputs).length === 0) {
    return;
  }
  void run.client.updateRun(run.id, {
    trace_id: run.traceId,
    dotted_order: run.dottedOrder,
    parent_run_id: run.parentRunId,
    session_name: run.projectName,
    inputs,
  });
}

/** Options for the root runs of all traces. */
interface RunSettings {
  readonly client?: ClientChoice | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly metadata?: KeyValues | undefined;
}

/**
 * The runs of the open traces and spans of the Agents SDK. A span is open from its start to its end, or to the end of
 * its trace. If another processor delays the report of a span's start, the span is recorded when its run is needed, or
 * when it ends.
 */
export class SpanRuns {
  readonly #settings: RunSettings;
  readonly #traces = new Map<string, TraceRun>();
  readonly #open = new Map<string, SpanRun>();
  readonly #ended = new Map<string, SpanRun>();

  constructor(settings: RunSettings) {
    this.#settings = settings;
  }

  /** Starts the run of a trace. `context` is the Agents SDK's context inside the trace. */
  startTrace(trace: AgentsTrace, context: unknown): void {
    this.endAbandonedTraces();
    const { client, tags, metadata } = this.#settings;
    const run = new RunTree({
      client,
      name: trace.name,
      tags,
      metadata: { openai_trace_id: trace.traceId, ...metadata },
      threadId: trace.groupId ?? undefined,
    });
    run.addMetadata(trace.metadata ?? {});
    this.#traces.set(trace.traceId, new TraceRun(run, trace.traceId, context));
    evictOldest(this.#traces, { limit: maxOpen, onEvicted: endUnfinished });
  }

  endTrace({ traceId }: Pick<AgentsTrace, "traceId">): void {
    for (const [spanId, spanRun] of this.#open) {
      if (spanRun.traceId === traceId) {
        this.#open.delete(spanId);
        endUnfinished(spanRun);
      }
    }
    this.#traces.get(traceId)?.endTrace();
    this.#traces.delete(traceId);
  }

  /**
   * Ends traces whose end is not reported. If the work inside a trace throws, the Agents SDK reports no end, and only
   * marks its context as no longer active.
   */
  endAbandonedTraces(): void {
    for (const [traceId, trace] of this.#traces) {
      if (trace.isAbandoned) {
        this.endTrace({ traceId });
      }
    }
  }

  startSpan(span: AgentsSpan): void {
    // If the span has already ended, the call of `endSpan` that follows records it.
    if (span.endedAt === null) {
      this.#findOrStart(span);
    }
  }

  endSpan(span: AgentsSpan): void {
    const spanRun = this.#findOrStart(span);
    this.#open.delete(span.spanId);
    this.#ended.set(span.spanId, spanRun);
    evictOldest(this.#ended, { limit: maxEnded });
    const end = describeEnd(span);
    if (end.modelCall !== undefined) {
      spanRun.parent?.addModelCall(end.modelCall.input, end.modelCall.text);
    }
    const error = describeError(span);
    spanRun.end(end, { error });
    if (span.parentId === null) {
      this.#traces.get(span.traceId)?.rememberEnd(error);
    }
  }

  /** Returns the run of the innermost open span of a context of the Agents SDK, or else of its trace. */
  findCurrent(context: unknown): RunTree | undefined {
    if (!isFields(context) || context["active"] !== true || !isFields(context["trace"])) {
      return undefined;
    }
    const trace = this.#traces.get(String(context["trace"]["traceId"]));
    const { span } = context;
    if (trace === undefined || !isFields(span)) {
      return trace?.run;
    }
    return isOpenSpan(span)
      ? this.#findOrStart(span).run
      : (this.#open.get(String(span["parentId"])) ?? trace).run;
  }

  #findOrStart(span: AgentsSpan): SpanRun {
    const existing = this.#open.get(span.spanId) ?? this.#ended.get(span.spanId);
    if (existing !== undefined) {
      return existing;
    }
    const { isModelCall, ...options } = describeStart(span);
    const { traceId } = span;
    const parent = this.#findParent(span) ?? this.#traces.get(traceId);
    const startTime = span.endedAt === null ? undefined : toTime(span.startedAt, parent);
    const run =
      parent === undefined
        ? new RunTree({ client: this.#settings.client, ...options, startTime })
        : parent.run.startChild({ ...options, startTime });
    if (isModelCall) {
      markModelCall(run);
    }
    const spanRun = new SpanRun(run, { traceId, parent });
    this.#open.set(span.spanId, spanRun);
    evictOldest(this.#open, { limit: maxOpen, onEvicted: endUnfinished });
    return spanRun;
  }

  #findParent(span: AgentsSpan): SpanRun | undefined {
    const { parentId } = span;
    if (parentId === null) {
      return undefined;
    }
    const parentRun = this.#open.get(parentId) ?? this.#ended.get(parentId);
    const parentSpan = parentRun === undefined ? findParentSpan(span) : undefined;
    return parentSpan === undefined ? parentRun : this.#findOrStart(parentSpan);
  }
}

function endUnfinished(spanRun: SpanRun): void {
  spanRun.end({ metadata: { [unfinishedKey]: true } });
}

function evictOldest(
  runs: Map<string, SpanRun>,
  { limit, onEvicted }: { readonly limit: number; readonly onEvicted?: (run: SpanRun) => void },
): void {
  for (const [id, spanRun] of runs) {
    if (runs.size <= limit) {
      return;
    }
    runs.delete(id);
    onEvicted?.(spanRun);
  }
}

/**
 * Converts an ISO time to milliseconds. The result is not before the parent's start, which could otherwise be later by
 * a fraction of a millisecond, because the times of spans have no microseconds.
 */
function toTime(time: string | null, parent: SpanRun | undefined): number | undefined {
  const milliseconds = Date.parse(time ?? "");
  return Number.isNaN(milliseconds)
    ? undefined
    : Math.max(milliseconds, parent?.run.startedAt ?? milliseconds);
}

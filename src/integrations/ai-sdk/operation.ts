import { currentRun, markModelCall, withRun } from "../../main/index.ts";
import type { KeyValues, NewRunOptions, RunOptions, RunTree } from "../../main/index.ts";
import { CorrectableRun } from "./correctable-run.ts";
import type { RunResult } from "./correctable-run.ts";
import { toAssistantMessage } from "./messages.ts";
import { OpenOperations } from "./open-operations.ts";
import { StreamContent } from "./stream-content.ts";
import { toUsageMetadata } from "./usage.ts";
import { isObject, readObject, readText, withoutUndefined } from "./values.ts";

/** Options that all runs of an integration have in common. */
export type CommonOptions = Pick<NewRunOptions, "client" | "tags" | "metadata">;

/** What a call of a model produced, in the AI SDK's terms. */
export interface ModelResult {
  readonly content: readonly unknown[];
  readonly finishReason?: unknown;
  readonly usage?: unknown;
  readonly providerMetadata?: unknown;
}

const openOperations = new OpenOperations();

/** The operation to which a run of the AI SDK belongs. */
const operations = new WeakMap<RunTree, Operation>();

/** Returns the operation of the AI SDK in whose context the caller is; `undefined` outside of any. */
export function currentOperation(): Operation | undefined {
  const run = currentRun();
  return run === undefined ? undefined : operations.get(run);
}

/**
 * The runs of one operation of the AI SDK, such as `generateText`: the operation, its steps, and in each step the call of
 * the model and the calls of tools.
 *
 * An operation that streams gives no sign if the program stops reading. So it counts what it waits for, and {@link
 * OpenOperations} ends it on the assumption that nobody will read on. If it goes on after all, the runs are corrected.
 */
export class Operation {
  readonly #run: CorrectableRun;
  #step: CorrectableRun | undefined;
  #stepCount = 0;
  #call: ModelCall | undefined;
  readonly #tools = new Map<string, CorrectableRun>();
  /** The number of things that the operation waits for: the model, a chunk of its stream, tools. */
  #activities = 0;
  /** How many of them are reads of the model's stream. */
  #reads = 0;
  #wasAssumed = false;
  #isStreaming = false;
  #isEnded = false;

  constructor(options: NewRunOptions) {
    this.#run = this.#own(new CorrectableRun(options));
    openOperations.add(this);
  }

  get run(): RunTree {
    return this.#run.run;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Whether nobody reads the operation's stream. */
  get isIdle(): boolean {
    return this.#isStreaming && this.#activities === 0;
  }

  /**
   * Whether the program may have left the operation's stream: it waits for nothing but the next chunk, which the AI SDK
   * reads in advance also if the program has left. Only true until the operation was assumed to have ended once.
   */
  get mayBeLeft(): boolean {
    return (
      this.isIdle || (this.#reads > 0 && this.#reads === this.#activities && !this.#wasAssumed)
    );
  }

  /** Starts the next step, and ends the one before, of whose end not every version of the AI SDK reports. */
  startStep(): void {
    this.endStep({});
    this.#stepCount += 1;
    this.#step = this.#start({ name: `step ${this.#stepCount}` }, this.run);
  }

  endStep(result: RunResult): void {
    this.#call?.end(result);
    this.#call = undefined;
    this.#step?.end(result);
    this.#step = undefined;
  }

  /** Starts the run of a model call. The one before has ended, or has failed. */
  startCall(options: RunOptions): ModelCall {
    this.#call?.end({ error: this.#call.failure });
    this.#call = new ModelCall(this.#start(options, this.#parent), this);
    return this.#call;
  }

  get call(): ModelCall | undefined {
    return this.#call;
  }

  /** Starts the run of a tool. */
  startTool(id: string, options: RunOptions): void {
    this.#tools.get(id)?.end({ isCancelled: true });
    this.#tools.set(id, this.#start({ ...options, runType: "tool" }, this.#parent));
  }

  findTool(id: string): RunTree | undefined {
    return this.#tools.get(id)?.run;
  }

  endTool(id: string, result: RunResult): void {
    this.#tools.get(id)?.end(result);
    this.#tools.delete(id);
  }

  /** Starts another run of the operation, such as one call of an embedding model. */
  startPart(options: RunOptions): CorrectableRun {
    return this.#start(options, this.#parent);
  }

  /** Ends the operation. What is still open in it ends too: after an error with the error, else as canceled. */
  end(result: RunResult): void {
    if (this.#isEnded) {
      return;
    }
    this.#isEnded = true;
    openOperations.delete(this);
    const isCut = this.#call !== undefined && !this.#call.isEnded;
    const { error, endTime } = result;
    const partResult = { error, endTime, isCancelled: error === undefined };
    for (const tool of this.#tools.values()) {
      tool.end(partResult);
    }
    this.#tools.clear();
    const stepResult = isCut ? partResult : { error, endTime };
    this.endStep(stepResult);
    this.#run.end({ ...result, isCancelled: result.isCancelled ?? (isCut && error === undefined) });
  }

  /** Ends the runs for now, because nobody reads the stream. */
  assumeEnd(): void {
    this.#wasAssumed = true;
    for (const tool of this.#tools.values()) {
      tool.assumeEnd(undefined);
    }
    this.#call?.assumeEnd();
    this.#step?.assumeEnd(undefined);
    const { usage_metadata: _, ...outputs } = this.#call?.outputs ?? {};
    this.#run.assumeEnd(outputs);
  }

  /** Calls `work`, for whose result the operation waits. */
  async track<Result>(work: () => PromiseLike<Result>): Promise<Result> {
    this.begin();
    try {
      return await work();
    } finally {
      this.finish();
    }
  }

  /** Reads a chunk of the model's stream. */
  async trackRead<Result>(read: () => Promise<Result>): Promise<Result> {
    this.#reads += 1;
    try {
      return await this.track(read);
    } finally {
      this.#reads -= 1;
    }
  }

  begin(): void {
    this.#activities += 1;
    if (!this.#isEnded) {
      openOperations.add(this);
    }
  }

  finish(): void {
    this.#activities -= 1;
  }

  /** Says that the operation streams, so that it can be left. */
  beginStreaming(): void {
    this.#isStreaming = true;
  }

  get #parent(): RunTree {
    return this.#step?.run ?? this.run;
  }

  #start(options: RunOptions, parent: RunTree): CorrectableRun {
    return this.#own(new CorrectableRun(options, parent));
  }

  #own(run: CorrectableRun): CorrectableRun {
    operations.set(run.run, this);
    return run;
  }
}

/** The run of one call of a model, with all attempts at it. */
export class ModelCall {
  readonly #run: CorrectableRun;
  readonly #operation: Operation;
  #stream: StreamContent | undefined;
  #failure: unknown;

  constructor(run: CorrectableRun, operation: Operation) {
    this.#run = run;
    this.#operation = operation;
    markModelCall(run.run);
  }

  get run(): RunTree {
    return this.#run.run;
  }

  get isEnded(): boolean {
    return this.#run.isEnded;
  }

  /** What the last attempt threw. */
  get failure(): unknown {
    return this.#failure;
  }

  /**
   * Calls the model within the run, so that no other integration records the request. An attempt that fails is an event of
   * the run, because the AI SDK may try again.
   */
  async execute<Result>(
    work: () => PromiseLike<Result>,
    { replaceStream, recordsContent }: ExecuteOptions<Result>,
  ): Promise<Result> {
    const startTime = new Date();
    try {
      const result = await this.#operation.track(() => withRun(this.run, work));
      return replaceStream(result, (stream) =>
        // A stream that somebody else reads can't be observed.
        stream.locked ? stream : this.#watch(stream, new StreamContent({ recordsContent })),
      );
    } catch (error) {
      this.#failure = error;
      this.run.addEvent({
        name: "attempt",
        time: startTime.toISOString(),
        kwargs: {
          end_time: new Date().toISOString(),
          error: error instanceof Error ? `${error.name}: ${error.message}` : String(error),
        },
      });
      throw error;
    }
  }

  /** Records the result. The content of a stream is what was seen of it, if the result has none. */
  endWith(result: ModelResult, { endTime }: RunResult = {}): void {
    const content = result.content.length === 0 ? (this.#stream?.parts ?? []) : result.content;
    this.#run.end({ outputs: toOutputs({ ...result, content }), endTime });
  }

  /** Ends the run with what was seen of the stream. */
  end(result: RunResult): void {
    this.#run.end({ ...result, outputs: this.outputs });
  }

  assumeEnd(): void {
    this.#run.assumeEnd(this.outputs);
  }

  /** What was seen of the stream. */
  get outputs(): KeyValues | undefined {
    const stream = this.#stream;
    if (stream === undefined || (stream.parts.length === 0 && stream.finish === undefined)) {
      return undefined;
    }
    if (stream.isIncomplete) {
      this.run.addMetadata({ millrace_incomplete: true });
    }
    const { finishReason, usage } = stream.finish ?? {};
    return toOutputs({ content: stream.parts, finishReason, usage });
  }

  /** Records that the model's first output arrived. */
  recordFirstOutput(): void {
    this.run.addEvent({ name: "new_token" });
  }

  #watch(source: ReadableStream<unknown>, content: StreamContent): ReadableStream<unknown> {
    this.#stream = content;
    this.#operation.beginStreaming();
    const reader = source.getReader();
    return new ReadableStream<unknown>(
      {
        pull: async (controller) => {
          const { done, value } = await this.#operation.trackRead(() => reader.read());
          if (done) {
            controller.close();
          } else {
            this.#record(content, value);
            controller.enqueue(value);
          }
        },
        cancel: async (reason) => {
          // After an abort an event follows that says why, but after the program left the stream none does.
          setImmediate(() => {
            this.#operation.end({ isCancelled: true });
          });
          await reader.cancel(reason);
        },
      },
      // The model must see the same demand as without tracing.
      { highWaterMark: 0 },
    );
  }

  /** A chunk that can't be read, such as a proxy that throws, is passed on without being recorded. */
  #record(content: StreamContent, chunk: unknown): void {
    try {
      if (content.add(chunk)) {
        this.recordFirstOutput();
      }
    } catch {
      this.run.addMetadata({ millrace_incomplete: true });
    }
  }
}

/** How a model is called. */
interface ExecuteOptions<Result> {
  readonly replaceStream: StreamReplacement<Result>;
  /** Whether what is seen of the stream may be recorded. */
  readonly recordsContent: boolean;
}

/** Returns `result` with the stream of a model, if it has one, replaced by what `replace` returns. */
export type StreamReplacement<Result> = (
  result: Result,
  replace: (stream: ReadableStream<unknown>) => ReadableStream<unknown>,
) => Result;

/** Replaces the member `stream`. */
export function replaceStreamMember<Result>(
  result: Result,
  replace: (stream: ReadableStream<unknown>) => ReadableStream<unknown>,
): Result {
  return isObject(result) && result["stream"] instanceof ReadableStream
    ? { ...result, stream: replace(result["stream"]) }
    : result;
}

/** Converts the result of a model call to the outputs of its run. */
function toOutputs(result: ModelResult): KeyValues {
  const { content, finishReason, usage, providerMetadata } = result;
  const reason = isObject(finishReason) ? finishReason["unified"] : finishReason;
  return withoutUndefined({
    messages: content.length === 0 ? undefined : [toAssistantMessage(content)],
    finish_reason: readText(reason),
    usage_metadata: toUsageMetadata(usage, providerMetadata),
    provider_metadata:
      Object.keys(readObject(providerMetadata)).length === 0 ? undefined : providerMetadata,
  });
}

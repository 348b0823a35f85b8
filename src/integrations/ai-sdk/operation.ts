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

/** The result of a model call, in the format of the AI SDK. */
export interface ModelResult {
  readonly content: readonly unknown[];
  readonly finishReason?: unknown;
  readonly usage?: unknown;
  readonly providerMetadata?: unknown;
}

const openOperations = new OpenOperations();

/** The operation of each run of this integration. */
const operations = new WeakMap<RunTree, Operation>();

/** Returns the operation to which the current run belongs; `undefined` if it belongs to none. */
export function currentOperation(): Operation | undefined {
  const run = currentRun();
  return run === undefined ? undefined : operations.get(run);
}

/**
 * The runs of one operation of the AI SDK, such as `generateText`: the run of the operation, of its steps, and of the
 * model calls and tool calls in each step.
 *
 * The AI SDK does not report that the program stopped reading a stream. This class therefore counts the activities in
 * progress, and {@link OpenOperations} ends an operation provisionally if nothing seems to read its stream. If the
 * operation continues after all, the runs are corrected.
 */
export class Operation {
  readonly #run: CorrectableRun;
  #step: CorrectableRun | undefined;
  #stepCount = 0;
  #call: ModelCall | undefined;
  readonly #tools = new Map<string, CorrectableRun>();
  /** Number of activities in progress: calls of the model, reads of its stream, and calls of tools. */
  #activities = 0;
  /** Number of these activities that are reads of the model's stream. */
  #reads = 0;
  #wasEndedProvisionally = false;
  #isStreaming = false;
  #isEnded = false;

  constructor(options: NewRunOptions) {
    // The ids in the metadata are options of the run, too, so that the runs below it inherit them.
    const { thread_id: threadId, user_id: userId } = options.metadata ?? {};
    const ids = { threadId: readText(threadId), userId: readText(userId) };
    this.#run = this.#register(new CorrectableRun({ ...options, ...ids }));
    openOperations.add(this);
  }

  get run(): RunTree {
    return this.#run.run;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Whether nothing is reading the operation's stream now. */
  get isIdle(): boolean {
    return this.#isStreaming && this.#activities === 0;
  }

  /**
   * Whether the program may have stopped reading the operation's stream: there is no activity except reads of the next
   * chunk. Such a read does not prove that the program is still reading, because the AI SDK reads the next chunk in
   * advance. After the operation was ended provisionally once, only an idle operation may be abandoned.
   */
  get mayBeAbandoned(): boolean {
    return (
      this.isIdle ||
      (this.#reads > 0 && this.#reads === this.#activities && !this.#wasEndedProvisionally)
    );
  }

  /**
   * Starts the next step, and ends the previous one, because not every version of the AI SDK reports the end of a step.
   */
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

  /** Starts the run of a model call. A previous call that has not ended yet is ended as failed. */
  startCall(options: RunOptions): ModelCall {
    this.#call?.end({ error: this.#call.failure });
    this.#call = new ModelCall(this.#start(options, this.#parent), this);
    return this.#call;
  }

  get call(): ModelCall | undefined {
    return this.#call;
  }

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

  /**
   * Ends the operation, and all runs in it that are still open: with the error if there is one, otherwise as cancelled.
   */
  end(result: RunResult): void {
    if (this.#isEnded) {
      return;
    }
    this.#isEnded = true;
    openOperations.delete(this);
    const isIncompleteCall = this.#call !== undefined && !this.#call.isEnded;
    const { error, endTime } = result;
    const partResult = { error, endTime, isCancelled: error === undefined };
    for (const tool of this.#tools.values()) {
      tool.end(partResult);
    }
    this.#tools.clear();
    const stepResult = isIncompleteCall ? partResult : { error, endTime };
    this.endStep(stepResult);
    this.#run.end({
      ...result,
      isCancelled: result.isCancelled ?? (isIncompleteCall && error === undefined),
    });
  }

  /**
   * Ends the runs because nothing seems to read the stream. The end is provisional unless `isFinal` is true: then the
   * client records nothing afterwards, and a correction would be lost, for example due to an event about what the AI
   * SDK read in advance.
   */
  assumeEnd({ isFinal }: { readonly isFinal: boolean }): void {
    const { usage_metadata: _, ...outputs } = this.#call?.outputs ?? {};
    if (isFinal) {
      this.end({ outputs, isCancelled: true });
      return;
    }
    this.#wasEndedProvisionally = true;
    for (const tool of this.#tools.values()) {
      tool.assumeEnd(undefined);
    }
    this.#call?.assumeEnd();
    this.#step?.assumeEnd(undefined);
    this.#run.assumeEnd(outputs);
  }

  /** Calls `work`, and counts it as an activity of the operation until its promise settles. */
  async track<Result>(work: () => PromiseLike<Result>): Promise<Result> {
    this.begin();
    try {
      return await work();
    } finally {
      this.finish();
    }
  }

  /** Calls `read`, which reads a chunk of the model's stream, and counts it as a read until its promise settles. */
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

  /** Marks the operation as streaming, so that it can be recognized as idle. */
  beginStreaming(): void {
    this.#isStreaming = true;
  }

  get #parent(): RunTree {
    return this.#step?.run ?? this.run;
  }

  #start(options: RunOptions, parent: RunTree): CorrectableRun {
    return this.#register(new CorrectableRun(options, parent));
  }

  #register(run: CorrectableRun): CorrectableRun {
    operations.set(run.run, this);
    return run;
  }
}

/** The run of one model call, including all of its attempts. */
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

  /** The value that the last failed attempt threw; `undefined` if none failed. */
  get failure(): unknown {
    return this.#failure;
  }

  /**
   * Calls the model within the run, so that no other integration records the request. A failed attempt is recorded as
   * an event, because the AI SDK may try again.
   */
  async execute<Result>(
    work: () => PromiseLike<Result>,
    { replaceStream, recordsContent }: ExecuteOptions<Result>,
  ): Promise<Result> {
    const startTime = new Date();
    try {
      const result = await this.#operation.track(() => withRun(this.run, work));
      return replaceStream(result, (stream) =>
        // A stream that already has another reader can't be observed.
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

  /** Ends the run with a result. If the result has no content, the observed content of the stream is recorded. */
  endWith(result: ModelResult, { endTime }: RunResult = {}): void {
    const content = result.content.length === 0 ? (this.#stream?.parts ?? []) : result.content;
    this.#run.end({ outputs: toOutputs({ ...result, content }), endTime });
  }

  /** Ends the run with the observed content of the stream. */
  end(result: RunResult): void {
    this.#run.end({ ...result, outputs: this.outputs });
  }

  assumeEnd(): void {
    this.#run.assumeEnd(this.outputs);
  }

  /** The observed content of the stream as outputs; `undefined` if nothing was observed. */
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
          // If the cancellation is due to an abort, an event with the reason ends the operation first. If the program
          // stopped reading, no event follows.
          setImmediate(() => {
            this.#operation.end({ isCancelled: true });
          });
          await reader.cancel(reason);
        },
      },
      // Read nothing in advance, so that the model's stream is read only as fast as without tracing.
      { highWaterMark: 0 },
    );
  }

  /**
   * Records a chunk. A chunk that can't be read, such as a proxy that throws, is not recorded; the caller passes it on
   * anyway.
   */
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

/** Options of {@link ModelCall.execute}. */
interface ExecuteOptions<Result> {
  readonly replaceStream: StreamReplacement<Result>;
  /** Whether the content of the stream may be recorded. */
  readonly recordsContent: boolean;
}

/** Returns `result` with its stream, if it has one, replaced by the stream that `replace` returns. */
export type StreamReplacement<Result> = (
  result: Result,
  replace: (stream: ReadableStream<unknown>) => ReadableStream<unknown>,
) => Result;

/** Returns a copy whose member `stream` is replaced; the value itself if it has no such stream. */
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

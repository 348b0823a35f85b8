import { currentRun, markModelCall, withRun } from "../../main/index.ts";
import type { KeyValues, RunType } from "../../main/index.ts";
import { describeVectors, toModelMetadata, toProgramMetadata } from "./call-settings.ts";
import { CorrectableRun } from "./correctable-run.ts";
import type { RunResult } from "./correctable-run.ts";
import { toAssistantMessage, toChatMessages } from "./messages.ts";
import { currentOperation, Operation, replaceStreamMember } from "./operation.ts";
import type { CommonOptions, ModelCall } from "./operation.ts";
import { toUsageMetadata } from "./usage.ts";
import {
  isList,
  isObject,
  parseJson,
  readObject,
  readText,
  toMembers,
  withoutUndefined,
} from "./values.ts";

/** The attributes of a span. Most strings in the AI SDK's attributes are JSON. */
type Attributes = KeyValues;

/** The part of OpenTelemetry's interface `Span` that the AI SDK uses. */
export interface AiSpan {
  spanContext(): { traceId: string; spanId: string; traceFlags: number };
  setAttribute(name: string, value: unknown): this;
  setAttributes(attributes: object): this;
  addEvent(name: string, attributes?: unknown): this;
  addLink(link: unknown): this;
  addLinks(links: unknown): this;
  setStatus(status: { readonly code: number; readonly message?: string }): this;
  updateName(name: string): this;
  end(): void;
  isRecording(): boolean;
  recordException(exception: unknown): void;
}

/** The part of OpenTelemetry's interface `Tracer` that the AI SDK uses. */
export interface AiTracer {
  startSpan(name: string, options?: object): AiSpan;
  startActiveSpan<Fn extends (span: AiSpan) => unknown>(name: string, fn: Fn): ReturnType<Fn>;
  startActiveSpan<Fn extends (span: AiSpan) => unknown>(
    name: string,
    options: object,
    fn: Fn,
  ): ReturnType<Fn>;
  startActiveSpan<Fn extends (span: AiSpan) => unknown>(
    name: string,
    options: object,
    context: unknown,
    fn: Fn,
  ): ReturnType<Fn>;
}

/** The run that records a span, with functions that depend on the kind of span. */
interface SpanRun {
  /** The run that is the current run while the span is the active span. */
  readonly run: CorrectableRun["run"];
  /** Calls the function that the AI SDK passed for the span, with the run as the current run. */
  call<Result>(work: () => Result): Result;
  end(attributes: Attributes, result: RunResult): void;
}

/** Options of `millraceTracer`. */
export interface TracerOptions extends CommonOptions {
  /**
   * Whether partial text and tool calls are recorded for a model call that was aborted, or whose stream the program
   * stopped reading. Set this only if no call has `recordOutputs: false`, because that setting is not passed to a
   * tracer.
   *
   * @defaultValue false
   */
  readonly partialOutputs?: boolean | undefined;
}

/** Converts the spans of AI SDK 5 and 6 to runs, in the same way as the events of version 7. */
export class SpanRuns implements AiTracer {
  readonly #options: TracerOptions;

  constructor(options: TracerOptions) {
    this.#options = options;
  }

  startSpan(name: string, options?: object): AiSpan {
    return new RunSpan(this.#start(name, options));
  }

  startActiveSpan<Fn extends (span: AiSpan) => unknown>(
    name: string,
    ...otherArguments: readonly unknown[]
  ): ReturnType<Fn> {
    const fn = otherArguments.at(-1) as Fn;
    const spanRun = this.#start(name, otherArguments.length > 1 ? otherArguments[0] : undefined);
    // The AI SDK's type requires the return type of `fn`.
    return spanRun.call(() => fn(new RunSpan(spanRun))) as ReturnType<Fn>;
  }

  /** Starts the run of a span. A run is started even if the span's attributes can't be read. */
  #start(name: string, options: unknown): SpanRun {
    try {
      return this.#startByName(name, readObject(readObject(options)["attributes"]));
    } catch (error) {
      const metadata = { millrace_error: toReadFailure(error) };
      return this.#startOther({ name, runType: "chain", inputs: {}, metadata }, () => ({}));
    }
  }

  #startByName(name: string, attributes: Attributes): SpanRun {
    if (name === "ai.toolCall") {
      return this.#startTool(attributes);
    }
    if (/\.do(?:Generate|Stream)$/.test(name)) {
      return this.#startModelCall(name, attributes);
    }
    if (/\.do[A-Z]\w*$/.test(name)) {
      return this.#startPart(name, attributes);
    }
    return this.#startOperation(name, attributes);
  }

  #startOperation(name: string, attributes: Attributes): SpanRun {
    const { client, tags, metadata } = this.#options;
    const operation = new Operation({
      client,
      tags,
      name: readText(attributes["operation.name"]) ?? name,
      inputs: toInputs(attributes),
      metadata: { ...metadata, ...toMetadata(attributes, undefined) },
    });
    if (name.startsWith("ai.stream")) {
      operation.beginStreaming();
    }
    return {
      run: operation.run,
      call: (work) => withRun(operation.run, () => trackPromise(operation, work)),
      end: (ended, result) => {
        operation.end({ outputs: toOperationOutputs(ended), ...result });
      },
    };
  }

  #startModelCall(name: string, attributes: Attributes): SpanRun {
    const operation = currentOperation();
    if (operation === undefined) {
      return this.#startPart(name, attributes);
    }
    // After a failed attempt the AI SDK tries again in the same step.
    if (operation.call?.failure === undefined) {
      operation.startStep();
    }
    const tools = attributes["ai.prompt.tools"];
    const choice = readObject(parseJson(attributes["ai.prompt.toolChoice"]))["type"];
    const call = operation.startCall({
      name: readText(attributes["operation.name"]) ?? name,
      runType: "llm",
      inputs: withoutUndefined({
        messages: toChatMessages(
          parseJson(attributes["ai.prompt.messages"] ?? attributes["ai.prompt"]),
        ),
        tools: isList(tools) ? tools.map(parseJson) : undefined,
        tool_choice: isList(tools) ? choice : undefined,
      }),
      metadata: toMetadata(attributes, "chat"),
    });
    return {
      run: call.run,
      call: (work) => callModel(call, work, this.#options.partialOutputs === true),
      end: (ended, result) => {
        endModelCall(call, ended, result);
      },
    };
  }

  #startTool(attributes: Attributes): SpanRun {
    const operation = currentOperation();
    const id = readText(attributes["ai.toolCall.id"]) ?? "";
    const name = readText(attributes["ai.toolCall.name"]);
    const inputs = toMembers(parseJson(attributes["ai.toolCall.args"]), "input");
    const metadata = { tool_call_id: id };
    if (operation === undefined) {
      return this.#startOther({ name, runType: "tool", inputs, metadata }, toToolOutputs);
    }
    operation.startTool(id, { name, inputs, metadata });
    const run = operation.findTool(id) ?? operation.run;
    return {
      run,
      call: (work) => withRun(run, () => trackPromise(operation, work)),
      end: (ended, result) => {
        operation.endTool(id, { outputs: toToolOutputs(ended), ...result });
      },
    };
  }

  /**
   * Starts the run of a model call that does not belong to a recorded operation, or whose model is not a language
   * model.
   */
  #startPart(name: string, attributes: Attributes): SpanRun {
    const runType = toPartType(name);
    const options = {
      name: readText(attributes["operation.name"]) ?? name,
      runType,
      inputs: toInputs(attributes),
      metadata: toMetadata(attributes, runType === "embedding" ? "embedding" : undefined),
    };
    const part = this.#startOther(options, toPartOutputs);
    markModelCall(part.run);
    return part;
  }

  #startOther(
    options: {
      readonly name: string | undefined;
      readonly runType: RunType;
      readonly inputs: KeyValues;
      readonly metadata: KeyValues;
    },
    readOutputs: (attributes: Attributes) => KeyValues,
  ): SpanRun {
    const { client, tags, metadata } = this.#options;
    const operation = currentOperation();
    const part =
      operation?.startPart(options) ??
      new CorrectableRun(
        { ...options, client, tags, metadata: { ...metadata, ...options.metadata } },
        currentRun(),
      );
    return {
      run: part.run,
      call: (work) => withRun(part.run, work),
      end: (attributes, result) => {
        part.end({ outputs: readOutputs(attributes), ...result });
      },
    };
  }
}

/** A span whose attributes become the outputs of a run. After its end, calls have no effect. */
class RunSpan implements AiSpan {
  readonly #spanRun: SpanRun;
  #attributes: Record<string, unknown> = {};
  #error: unknown;
  #isRecording = true;

  constructor(spanRun: SpanRun) {
    this.#spanRun = spanRun;
  }

  spanContext(): { traceId: string; spanId: string; traceFlags: number } {
    const { id, traceId } = this.#spanRun.run;
    return {
      traceId: traceId.replaceAll("-", ""),
      spanId: id.replaceAll("-", "").slice(16),
      traceFlags: 1,
    };
  }

  setAttribute(name: string, value: unknown): this {
    this.#attributes[name] = value;
    return this;
  }

  setAttributes(attributes: object): this {
    try {
      Object.assign(this.#attributes, attributes);
    } catch (error) {
      this.#spanRun.run.addMetadata({ millrace_error: toReadFailure(error) });
    }
    return this;
  }

  addEvent(name: string, attributes?: unknown): this {
    if (name === "ai.stream.firstChunk") {
      // The run has recorded the first chunk already, because it observes the stream.
      return this;
    }
    this.#spanRun.run.addEvent({ name, ...readObject(attributes) });
    return this;
  }

  addLink(): this {
    return this;
  }

  addLinks(): this {
    return this;
  }

  setStatus({ code, message }: { readonly code: number; readonly message?: string }): this {
    if (code === errorStatus) {
      this.#error ??= new Error(message ?? "The AI SDK reported an error");
    }
    return this;
  }

  updateName(): this {
    return this;
  }

  end(): void {
    if (this.#isRecording) {
      this.#isRecording = false;
      const result = this.#error === undefined ? {} : { error: this.#error };
      try {
        this.#spanRun.end(this.#attributes, result);
      } catch (error) {
        this.#spanRun.run.addMetadata({ millrace_error: toReadFailure(error) });
        this.#spanRun.end({}, result);
      }
      this.#attributes = {};
    }
  }

  isRecording(): boolean {
    return this.#isRecording;
  }

  recordException(exception: unknown): void {
    const { name, message, stack } = readObject(exception);
    const error = new Error(readText(message) ?? "The AI SDK reported an error");
    this.#error = Object.assign(error, withoutUndefined({ name: readText(name), stack }));
  }
}

/**
 * Describes an error that was thrown while a span was read. The attributes may be an object of the program that throws
 * when it is read.
 */
const toReadFailure = (error: unknown): string =>
  `The span could not be read: ${error instanceof Error ? error.message : "unknown"}`;

/** `SpanStatusCode.ERROR` of OpenTelemetry. */
const errorStatus = 2;

function toPartType(name: string): RunType {
  if (name.endsWith(".doEmbed")) {
    return "embedding";
  }
  return name.endsWith(".doRerank") ? "retriever" : "llm";
}

/** Calls a model with the AI SDK's function, which returns a promise. */
function callModel<Result>(call: ModelCall, work: () => Result, recordsContent: boolean): Result {
  const promise: unknown = call.execute<unknown>(async () => work(), {
    replaceStream: replaceNestedStream,
    recordsContent,
  });
  // `execute` returns a promise with the same result as the promise that `work` returns.
  return promise as Result;
}

/**
 * Replaces the stream of a model. `ai.streamText` and `ai.streamObject` return it as `result.stream`, other operations
 * as `stream`.
 */
function replaceNestedStream(
  result: unknown,
  replace: (stream: ReadableStream<unknown>) => ReadableStream<unknown>,
): unknown {
  return isObject(result) && isObject(result["result"])
    ? { ...result, result: replaceStreamMember(result["result"], replace) }
    : replaceStreamMember(result, replace);
}

/** Calls `work`, and counts it as an activity of the operation until its promise settles. */
function trackPromise<Result>(operation: Operation, work: () => Result): Result {
  operation.begin();
  let result: Result;
  try {
    result = work();
  } catch (error) {
    operation.finish();
    throw error;
  }
  if (!(result instanceof Promise)) {
    operation.finish();
    return result;
  }
  const finish = (): void => operation.finish();
  result.then(finish, finish);
  return result;
}

function endModelCall(call: ModelCall, attributes: Attributes, result: RunResult): void {
  const model = readText(attributes["ai.response.model"]);
  const responseId = readText(attributes["ai.response.id"]);
  call.run.addMetadata(withoutUndefined({ ls_model_name: model, response_id: responseId }));
  if (result.error !== undefined) {
    call.end(result);
    return;
  }
  call.endWith({
    content: readContent(attributes),
    finishReason: attributes["ai.response.finishReason"],
    usage: readUsage(attributes),
    providerMetadata: parseJson(attributes["ai.response.providerMetadata"]),
  });
}

/** Returns the content of a response as parts in the format of the AI SDK. */
function readContent(attributes: Attributes): readonly unknown[] {
  const text = readText(attributes["ai.response.text"] ?? attributes["ai.response.object"]);
  const reasoning = readText(attributes["ai.response.reasoning"]);
  const calls = parseJson(attributes["ai.response.toolCalls"]);
  return [
    ...(reasoning === undefined ? [] : [{ type: "reasoning", text: reasoning }]),
    ...(text === undefined ? [] : [{ type: "text", text }]),
    ...(isList(calls) ? calls.map((call) => ({ ...readObject(call), type: "tool-call" })) : []),
  ];
}

/**
 * Reads the token counts from attributes such as `ai.usage.inputTokens` and
 * `ai.usage.inputTokenDetails.cacheReadTokens`.
 */
function readUsage(attributes: Attributes): KeyValues {
  const usage: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(attributes)) {
    const [, member = "", detail] = /^ai\.usage\.(\w+)(?:\.(\w+))?$/.exec(name) ?? [];
    if (detail !== undefined) {
      usage[member] = { ...readObject(usage[member]), [detail]: value };
    } else if (member !== "") {
      usage[member] = value;
    }
  }
  return usage;
}

/** Returns the metadata of a run: its model, its settings, and the program's own `metadata`. */
function toMetadata(
  attributes: Attributes,
  modelType: "chat" | "embedding" | undefined,
): KeyValues {
  const prefix = "ai.telemetry.metadata.";
  const programMetadata = Object.entries(attributes)
    .filter(([name]) => name.startsWith(prefix))
    .map(([name, value]): readonly [string, unknown] => [name.slice(prefix.length), value]);
  return {
    ...toProgramMetadata(Object.fromEntries(programMetadata)),
    ...toModelMetadata(
      {
        provider: attributes["ai.model.provider"],
        model: attributes["ai.model.id"],
        temperature:
          attributes["gen_ai.request.temperature"] ?? attributes["ai.settings.temperature"],
        maxTokens:
          attributes["gen_ai.request.max_tokens"] ?? attributes["ai.settings.maxOutputTokens"],
        stop: attributes["gen_ai.request.stop_sequences"],
      },
      modelType,
    ),
  };
}

/** Returns the inputs of an operation, or of one call of an embedding or reranking model. */
function toInputs(attributes: Attributes): KeyValues {
  const { system, prompt, messages } = readObject(parseJson(attributes["ai.prompt"]));
  const chat = [
    ...toChatMessages(system, "system"),
    ...toChatMessages(prompt),
    ...toChatMessages(messages),
  ];
  const texts = attributes["ai.values"] ?? attributes["ai.value"];
  const documents = attributes["ai.documents"];
  return withoutUndefined({
    ...(chat.length === 0 ? {} : { messages: chat }),
    texts: texts === undefined ? undefined : toList(texts).map(parseJson),
    documents: documents === undefined ? undefined : toList(documents).map(parseJson),
    schema: parseJson(attributes["ai.schema"]),
  });
}

function toOperationOutputs(attributes: Attributes): KeyValues {
  const content = readContent(attributes);
  const object = attributes["ai.response.object"];
  const embeddings = attributes["ai.embeddings"] ?? attributes["ai.embedding"];
  const ranking = attributes["ai.ranking"];
  return withoutUndefined({
    ...(content.length === 0 || object !== undefined
      ? {}
      : { messages: [toAssistantMessage(content)] }),
    object: parseJson(object),
    ...(embeddings === undefined
      ? {}
      : describeVectors(toList(embeddings).map((vector) => parseJson(vector)))),
    ranking: ranking === undefined ? undefined : toList(ranking).map(parseJson),
    finish_reason: readText(attributes["ai.response.finishReason"]),
  });
}

/** Returns the outputs of one model call, including its token counts, which the operation's run does not repeat. */
const toPartOutputs = (attributes: Attributes): KeyValues =>
  withoutUndefined({
    ...toOperationOutputs(attributes),
    usage_metadata: toUsageMetadata(readUsage(attributes)),
  });

const toToolOutputs = (attributes: Attributes): KeyValues =>
  toMembers(parseJson(attributes["ai.toolCall.result"]), "output");

const toList = (value: unknown): readonly unknown[] => (isList(value) ? value : [value]);

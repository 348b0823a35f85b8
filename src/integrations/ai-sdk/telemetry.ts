import { enterModelCall, withRun } from "../../main/index.ts";
import type { KeyValues } from "../../main/index.ts";
import {
  describeVectors,
  toModelMetadata,
  toOperationName,
  toProgramMetadata,
} from "./call-settings.ts";
import type { CorrectableRun } from "./correctable-run.ts";
import { toAssistantMessage, toChatMessages } from "./messages.ts";
import { Operation, replaceStreamMember } from "./operation.ts";
import type { CommonOptions } from "./operation.ts";
import { toUsageMetadata } from "./usage.ts";
import {
  isList,
  isObject,
  readNumber,
  readObject,
  readText,
  toMembers,
  withoutUndefined,
} from "./values.ts";

/** Options of `millraceTelemetry`. */
export type TelemetryOptions = CommonOptions;

/** The arguments of `executeLanguageModelCall` and `executeTool`. */
interface ExecuteOptions<Result> {
  readonly callId: string;
  readonly recordOutputs?: boolean | undefined;
  readonly execute: () => PromiseLike<Result>;
}

/** The part of the AI SDK's interface `Telemetry` that Millrace implements. */
export interface MillraceTelemetry {
  onStart(event: object): void;
  onStepStart(event: object): void;
  onLanguageModelCallStart(event: object): void;
  onLanguageModelCallEnd(event: object): void;
  onToolExecutionStart(event: object): void;
  onToolExecutionEnd(event: object): void;
  onStepEnd(event: object): void;
  onStepError(event: object): void;
  onObjectStepStart(event: object): void;
  onObjectStepEnd(event: object): void;
  onEmbedStart(event: object): void;
  onEmbedEnd(event: object): void;
  onRerankStart(event: object): void;
  onRerankEnd(event: object): void;
  onEnd(event: object): void;
  onAbort(event: object): void;
  onError(event: unknown): void;
  executeLanguageModelCall<Result>(options: ExecuteOptions<Result>): PromiseLike<Result>;
  executeTool<Result>(
    options: ExecuteOptions<Result> & { readonly toolCallId: string },
  ): PromiseLike<Result>;
}

/** Maximum number of open operations that are remembered. A program has more only if it abandoned some. */
const operationLimit = 10_000;

/**
 * Converts the events of AI SDK 7 to runs. The AI SDK catches errors of its listeners, so an event that can't be read
 * affects only its own run.
 */
export class TelemetryRuns implements MillraceTelemetry {
  readonly #options: CommonOptions;
  /** The open operations, by the id of the call. */
  readonly #operations = new Map<string, Operation>();
  /** Names of the operations without the `functionId`. The names of model calls are derived from them. */
  readonly #names = new WeakMap<Operation, string>();
  readonly #streaming = new WeakSet<Operation>();
  /** The tool choice of the current step, which the event of the model call does not contain. */
  readonly #toolChoices = new WeakMap<Operation, unknown>();
  /** The runs of embedding and reranking calls, by operation and id of the call. */
  readonly #parts = new WeakMap<Operation, Map<string, CorrectableRun>>();

  constructor(options: CommonOptions) {
    this.#options = options;
  }

  onStart(started: object): void {
    const event = readObject(started);
    const callId = readText(event["callId"]);
    if (callId === undefined) {
      return;
    }
    const name = readText(event["operationId"]) ?? "ai";
    const isText = name === "ai.generateText" || name === "ai.streamText";
    const { client, tags, metadata } = this.#options;
    const operation = new Operation({
      client,
      tags,
      name: toOperationName(name, event["functionId"]),
      inputs: toInputs(event),
      metadata: {
        ...metadata,
        ...toModelMetadata({ provider: event["provider"], model: event["modelId"] }, undefined),
        // For other operations, the AI SDK passes the runtime context even if the program did not set
        // `includeRuntimeContext`.
        ...(isText ? toProgramMetadata(readObject(event["runtimeContext"])) : {}),
      },
      startTime: readNumber(event["timestamp"]),
    });
    this.#names.set(operation, name);
    if (name.startsWith("ai.stream")) {
      this.#streaming.add(operation);
    }
    this.#evictOldest();
    this.#operations.set(callId, operation);
  }

  onStepStart(event: object): void {
    const operation = this.#find(event);
    if (operation !== undefined) {
      operation.startStep();
      this.#toolChoices.set(operation, readObject(event)["stepToolChoice"]);
    }
  }

  onLanguageModelCallStart(started: object): void {
    const operation = this.#find(started);
    if (operation !== undefined) {
      const event = readObject(started);
      const tools = event["tools"];
      const choice = readObject(this.#toolChoices.get(operation))["type"];
      this.#startCall(operation, event, {
        messages: toPrompt(event),
        ...(isList(tools) ? { tools } : {}),
        ...(isList(tools) && choice !== undefined ? { tool_choice: choice } : {}),
      });
    }
  }

  async executeLanguageModelCall<Result>(options: ExecuteOptions<Result>): Promise<Result> {
    const call = this.#operations.get(options.callId)?.call;
    return call === undefined
      ? options.execute()
      : call.execute(options.execute, {
          replaceStream: replaceStreamMember,
          recordsContent: options.recordOutputs !== false,
        });
  }

  onLanguageModelCallEnd(ended: object): void {
    const event = readObject(ended);
    const call = this.#find(ended)?.call;
    const model = readText(readObject(event["response"])["modelId"]) ?? readText(event["modelId"]);
    if (model !== undefined && model !== call?.run.metadata?.["ls_model_name"]) {
      call?.run.addMetadata({ ls_model_name: model });
    }
    const responseId = readText(event["responseId"]);
    if (responseId !== undefined) {
      call?.run.addMetadata({ response_id: responseId });
    }
    call?.endWith(
      {
        content: isList(event["content"]) ? event["content"] : [],
        finishReason: event["finishReason"],
        usage: event["usage"],
        providerMetadata: event["providerMetadata"],
      },
      { endTime: readNumber(event["timestamp"]) },
    );
  }

  onToolExecutionStart(event: object): void {
    const { toolCallId, toolName, input } = readObject(readObject(event)["toolCall"]);
    const id = readText(toolCallId);
    if (id !== undefined) {
      const metadata = { tool_call_id: id };
      const name = readText(toolName);
      this.#find(event)?.startTool(id, { name, inputs: toMembers(input, "input"), metadata });
    }
  }

  async executeTool<Result>({
    callId,
    toolCallId,
    execute,
  }: ExecuteOptions<Result> & { readonly toolCallId: string }): Promise<Result> {
    const operation = this.#operations.get(callId);
    const run = operation?.findTool(toolCallId);
    return operation === undefined || run === undefined
      ? execute()
      : operation.track(() => withRun(run, execute));
  }

  onToolExecutionEnd(event: object): void {
    const { toolCall, toolOutput } = readObject(event);
    const id = readText(readObject(toolCall)["toolCallId"]);
    const { type, output, error } = readObject(toolOutput);
    if (id !== undefined) {
      this.#find(event)?.endTool(
        id,
        type === "tool-error"
          ? { error: error ?? new Error("The tool failed") }
          : { outputs: toMembers(output, "output") },
      );
    }
  }

  onStepEnd(event: object): void {
    const { finishReason, timestamp } = readObject(event);
    const outputs = withoutUndefined({ finish_reason: readText(finishReason) });
    this.#find(event)?.endStep({ outputs, endTime: readNumber(timestamp) });
  }

  onStepError(event: object): void {
    this.#find(event)?.endStep({ error: readError(event) });
  }

  onObjectStepStart(started: object): void {
    const operation = this.#find(started);
    if (operation !== undefined) {
      const event = readObject(started);
      operation.startStep();
      this.#startCall(operation, event, { messages: toChatMessages(event["promptMessages"]) });
      enterModelCall(operation.call?.run ?? operation.run);
      if (this.#streaming.has(operation)) {
        operation.beginStreaming();
      }
    }
  }

  onObjectStepEnd(ended: object): void {
    const operation = this.#find(ended);
    const { objectText, reasoning, finishReason, usage, providerMetadata, msToFirstChunk } =
      readObject(ended);
    if (readNumber(msToFirstChunk) !== undefined) {
      operation?.call?.recordFirstOutput();
    }
    operation?.call?.endWith({
      content: [
        ...(readText(reasoning) === undefined ? [] : [{ type: "reasoning", text: reasoning }]),
        ...(readText(objectText) === undefined ? [] : [{ type: "text", text: objectText }]),
      ],
      finishReason,
      usage,
      providerMetadata,
    });
    operation?.endStep({ outputs: withoutUndefined({ finish_reason: readText(finishReason) }) });
  }

  onEmbedStart(started: object): void {
    const event = readObject(started);
    this.#startPart(event, {
      runType: "embedding",
      inputs: withoutUndefined({ texts: event["values"] }),
      metadata: toModelMetadata(
        { provider: event["provider"], model: event["modelId"] },
        "embedding",
      ),
    });
  }

  onEmbedEnd(ended: object): void {
    const { embeddings, usage } = readObject(ended);
    this.#endPart(ended, {
      ...(embeddings === undefined ? {} : describeVectors(embeddings)),
      usage_metadata: toUsageMetadata(usage),
    });
  }

  onRerankStart(started: object): void {
    const event = readObject(started);
    this.#startPart(event, {
      runType: "retriever",
      inputs: withoutUndefined({ query: event["query"], documents: event["documents"] }),
      metadata: toModelMetadata(
        { provider: event["provider"], model: event["modelId"] },
        undefined,
      ),
    });
  }

  onRerankEnd(ended: object): void {
    this.#endPart(ended, { ranking: readObject(ended)["ranking"] });
  }

  onEnd(event: object): void {
    const members = readObject(event);
    this.#end(event, {
      outputs: toOperationOutputs(members),
      ...(members["error"] === undefined ? {} : { error: members["error"] }),
      endTime: readNumber(members["timestamp"]),
    });
  }

  onAbort(event: object): void {
    this.#end(event, { error: readObject(event)["reason"] ?? new Error("The call was aborted") });
  }

  onError(event: unknown): void {
    if (isObject(event)) {
      this.#end(event, { error: readError(event) });
    }
  }

  #find(event: object): Operation | undefined {
    return this.#operations.get(String(readObject(event)["callId"]));
  }

  #end(event: object, result: Parameters<Operation["end"]>[0]): void {
    this.#find(event)?.end(result);
    this.#operations.delete(String(readObject(event)["callId"]));
  }

  #startCall(operation: Operation, event: KeyValues, inputs: KeyValues): void {
    const { maxOutputTokens, temperature, stopSequences, provider, modelId } = event;
    const suffix = this.#streaming.has(operation) ? "doStream" : "doGenerate";
    operation.startCall({
      name: toOperationName(`${this.#names.get(operation) ?? "ai"}.${suffix}`, event["functionId"]),
      runType: "llm",
      inputs,
      metadata: toModelMetadata(
        { provider, model: modelId, temperature, maxTokens: maxOutputTokens, stop: stopSequences },
        "chat",
      ),
      startTime: readNumber(event["timestamp"]),
    });
  }

  #startPart(event: KeyValues, options: Parameters<Operation["startPart"]>[0]): void {
    const operation = this.#find(event);
    if (operation !== undefined) {
      const name = toOperationName(String(event["operationId"]), event["functionId"]);
      const parts = this.#parts.get(operation) ?? new Map<string, CorrectableRun>();
      const part = operation.startPart({ name, ...options });
      this.#parts.set(operation, parts.set(toPartKey(event), part));
      enterModelCall(part.run);
    }
  }

  #endPart(event: object, outputs: KeyValues): void {
    const operation = this.#find(event);
    const part = operation && this.#parts.get(operation)?.get(toPartKey(event));
    part?.end({ outputs: withoutUndefined(outputs) });
  }

  #evictOldest(): void {
    if (this.#operations.size >= operationLimit) {
      const [oldest] = this.#operations.keys();
      this.#operations.delete(oldest ?? "");
    }
  }
}

/**
 * Returns the id of a call within its operation, because embedding models are called in parallel; empty for other
 * calls.
 */
const toPartKey = (event: object): string => readText(readObject(event)["embedCallId"]) ?? "";

const toPrompt = ({ instructions, messages }: KeyValues): readonly KeyValues[] => [
  ...toChatMessages(instructions, "system"),
  ...toChatMessages(messages),
];

/** Returns the inputs of an operation from the members of its start event. */
function toInputs(event: KeyValues): KeyValues {
  const { value, documents, query, text, audio, schema } = event;
  const messages = [
    ...toPrompt({ ...event, messages: undefined }),
    ...toChatMessages(event["system"], "system"),
    ...toChatMessages(event["prompt"]),
    ...toChatMessages(event["messages"]),
  ];
  return withoutUndefined({
    ...(messages.length === 0 ? {} : { messages }),
    texts: value === undefined || isList(value) ? value : [value],
    query,
    documents,
    text,
    audio,
    schema,
  });
}

/** Returns the outputs of an operation, without token counts: the server adds up those of its model calls. */
function toOperationOutputs(event: KeyValues): KeyValues {
  const { object, embedding, ranking, audio, finishReason, text } = event;
  const { content } = readObject(event["finalStep"]);
  // The content is an empty list if the model generated none, or the outputs must not be recorded.
  const hasContent = isList(content) && content.length > 0;
  return withoutUndefined({
    ...(hasContent ? { messages: [toAssistantMessage(content)] } : { text: readText(text) }),
    ...(embedding === undefined ? {} : describeVectors(embedding)),
    object,
    ranking,
    audio,
    finish_reason: readText(finishReason),
  });
}

const readError = (event: object): unknown =>
  readObject(event)["error"] ?? new Error("The AI SDK reported an error");

import type { AnswerBuilder } from "../answer-builder.ts";
import { toCount } from "../../runs/usage/usage-sources.ts";
import { parseObject, toList, toObject, toText, withoutUndefined } from "../json-value.ts";
import type { JsonObject } from "../json-value.ts";
import type { FinishReason } from "../model-answer.ts";
import type { ModelMessage, ModelRequest } from "../model-request.ts";
import type { Protocol } from "./protocol.ts";

/** The version of the API, which each request must name. */
const apiVersion = "2023-06-01";
/** The limit on output tokens for a request that sets none, because the API requires one. */
const defaultMaxTokens = 4_096;
/** Name of the tool that the model calls to answer in the form of an output schema. Every model supports this. */
const answerTool = "answer";

/** Anthropic's Messages API. */
export const anthropic: Protocol = {
  createHeaders: (key) => ({
    "anthropic-version": apiVersion,
    ...(key === undefined ? {} : { "x-api-key": key }),
  }),
  createBody,
  readEvent,
  readResponse,
};

function createBody(request: ModelRequest): JsonObject {
  const { model, messages, outputSchema, settings = {} } = request;
  const system = messages
    .filter(({ role }) => role === "system")
    .map(({ content }) => content)
    .join("\n\n");
  const tools = [
    ...(request.tools ?? []).map(({ name, description, parameters }) =>
      withoutUndefined({ name, description, input_schema: parameters }),
    ),
    ...(outputSchema === undefined
      ? []
      : [
          {
            name: answerTool,
            description: "Gives the answer to the user.",
            input_schema: outputSchema.schema,
          },
        ]),
  ];
  return withoutUndefined({
    model,
    system: system === "" ? undefined : system,
    messages: joinTurns(messages.filter(({ role }) => role !== "system").map(toMessage)),
    tools: tools.length === 0 ? undefined : tools,
    tool_choice: outputSchema === undefined ? undefined : createToolChoice(request),
    max_tokens: settings.maxTokens ?? defaultMaxTokens,
    temperature: settings.temperature,
    top_p: settings.topP,
    stop_sequences: settings.stop,
    stream: true,
  });
}

/** Makes the model call a tool. If the request has tools of its own, the model may call one of these first. */
const createToolChoice = ({ tools = [] }: ModelRequest): JsonObject =>
  tools.length === 0 ? { type: "tool", name: answerTool } : { type: "any" };

interface Turn {
  readonly role: "user" | "assistant";
  readonly content: readonly JsonObject[];
}

function toMessage(message: ModelMessage): Turn {
  const { role, content, images = [], toolCalls = [], toolCallId } = message;
  if (role === "tool") {
    const result = { type: "tool_result", tool_use_id: toolCallId ?? "", content };
    return { role: "user", content: [result] };
  }
  return {
    role: role === "assistant" ? "assistant" : "user",
    content: [
      ...(content === "" ? [] : [{ type: "text", text: content }]),
      ...images.map((url) => ({ type: "image", source: toImageSource(url) })),
      ...toolCalls.map(({ id, name, arguments: text }) => ({
        type: "tool_use",
        id,
        name,
        input: parseObject(text) ?? {},
      })),
    ],
  };
}

/** Joins messages of the same role that follow one another, such as the results of several tools. */
function joinTurns(turns: readonly Turn[]): readonly Turn[] {
  const joined: Turn[] = [];
  for (const turn of turns) {
    const lastTurn = joined.at(-1);
    if (lastTurn?.role === turn.role) {
      joined[joined.length - 1] = { ...lastTurn, content: [...lastTurn.content, ...turn.content] };
    } else {
      joined.push(turn);
    }
  }
  return joined;
}

function toImageSource(url: string): JsonObject {
  const [, mediaType, data] = /^data:([^;,]+);base64,(.*)$/s.exec(url) ?? [];
  return mediaType === undefined
    ? { type: "url", url }
    : { type: "base64", media_type: mediaType, data };
}

const isAnswerTool = (name: unknown, { outputSchema }: ModelRequest): boolean =>
  outputSchema !== undefined && name === answerTool;

function readEvent(event: JsonObject, answer: AnswerBuilder, request: ModelRequest): void {
  const key = String(toCount(event["index"]) ?? 0);
  switch (event["type"]) {
    case "message_start": {
      const message = toObject(event["message"]);
      answer.model = toText(message["model"]);
      addUsage(message["usage"], answer);
      break;
    }
    case "content_block_start":
      readBlock(key, toObject(event["content_block"]), { answer, request });
      break;
    case "content_block_delta":
      readDelta(key, toObject(event["delta"]), { answer, request });
      break;
    case "message_delta":
      addUsage(event["usage"], answer);
      readStopReason(toObject(event["delta"])["stop_reason"], { answer, request });
      break;
    case "message_stop":
      answer.isFinished = true;
      break;
    case "error":
      answer.error ??= toText(toObject(event["error"])["message"]) ?? "the stream reports an error";
      break;
    default:
      // Pings, and ends of blocks.
      break;
  }
}

interface AnswerReading {
  readonly answer: AnswerBuilder;
  readonly request: ModelRequest;
}

function readBlock(key: string, block: JsonObject, { answer, request }: AnswerReading): void {
  if (block["type"] === "tool_use" && !isAnswerTool(block["name"], request)) {
    const name = toText(block["name"]) ?? "";
    answer.startToolCall(key, { id: toText(block["id"]) ?? "", name });
  }
  answer.addText(toText(block["text"]) ?? "");
  answer.addThinking(toText(block["thinking"]) ?? "");
}

function readDelta(key: string, delta: JsonObject, { answer, request }: AnswerReading): void {
  answer.addText(toText(delta["text"]) ?? "");
  answer.addThinking(toText(delta["thinking"]) ?? "");
  const json = toText(delta["partial_json"]) ?? "";
  const isCall = answer.hasToolCall(key);
  if (isCall) {
    answer.addArguments(key, json);
  } else if (request.outputSchema !== undefined) {
    answer.addText(json);
  }
}

const finishReasons: ReadonlyMap<string, FinishReason> = new Map([
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["max_tokens", "length"],
  ["tool_use", "toolCalls"],
  ["refusal", "filtered"],
]);

function readStopReason(value: unknown, { answer }: AnswerReading): void {
  const reason = toText(value);
  if (reason !== undefined) {
    const finishReason = finishReasons.get(reason) ?? "other";
    // The tool of the output schema is the answer, not a call.
    answer.finishReason =
      finishReason === "toolCalls" && answer.toolCalls.length === 0 ? "stop" : finishReason;
  }
}

/**
 * Adds the reported usage. The counts of input tokens arrive at the beginning of a stream, and the count of output
 * tokens at the end.
 */
function addUsage(value: unknown, answer: AnswerBuilder): void {
  const usage = toObject(value);
  const cacheRead = toCount(usage["cache_read_input_tokens"]) ?? answer.usage?.cacheRead ?? 0;
  const cacheWrite = toCount(usage["cache_creation_input_tokens"]) ?? answer.usage?.cacheWrite ?? 0;
  const uncached = toCount(usage["input_tokens"]);
  const inputTokens =
    uncached === undefined ? answer.usage?.inputTokens : uncached + cacheRead + cacheWrite;
  const outputTokens = toCount(usage["output_tokens"]) ?? answer.usage?.outputTokens;
  if (inputTokens !== undefined && outputTokens !== undefined) {
    answer.usage = { inputTokens, outputTokens, cacheRead, cacheWrite, reasoning: 0 };
  }
}

function readResponse(response: JsonObject, answer: AnswerBuilder, request: ModelRequest): void {
  answer.model = toText(response["model"]);
  addUsage(response["usage"], answer);
  toList(response["content"]).forEach((value, index) => {
    const block = toObject(value);
    const key = String(index);
    readBlock(key, block, { answer, request });
    if (block["type"] === "tool_use") {
      readDelta(key, { partial_json: JSON.stringify(block["input"] ?? {}) }, { answer, request });
    }
  });
  readStopReason(response["stop_reason"], { answer, request });
  answer.isFinished ||= Array.isArray(response["content"]);
}

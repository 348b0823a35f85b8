import type { ExchangeFields, RawExchange } from "../../../model/records/exchange.ts";
import { describeBase64, replaceTexts } from "../parsing/binary-text.ts";
import { DeltaMerger } from "../parsing/deltas.ts";
import { isJsonObject, setMember, toList, toObject, toText } from "../parsing/json-object.ts";
import type { JsonObject, MutableJsonObject } from "../parsing/json-object.ts";
import type { ModelKind } from "../parsing/model-metadata.ts";
import { readRequest } from "../parsing/read-request.ts";
import type { RequestFormat } from "../parsing/read-request.ts";
import { readResponse } from "../parsing/read-response.ts";
import type { JoinedStream, ResponseReader, StreamedValue } from "../parsing/read-response.ts";
import { readOpenAiUsage } from "../parsing/usage.ts";

/** Reads requests and responses of OpenAI's chat completions, and of servers with the same format. */
export const readOpenAiChat = (exchange: RawExchange): ExchangeFields =>
  exchange.part === "request"
    ? readRequest(exchange, requestFormat)
    : readResponse(exchange, responseReader);

const model: ModelKind = { type: "chat", provider: "openai" };

const requestFormat: RequestFormat = {
  name: "ChatOpenAI",
  runType: "llm",
  model,
  readSettings: ({ model: name, temperature, max_completion_tokens, max_tokens, stop }) => ({
    model: name,
    temperature,
    maxTokens: max_completion_tokens ?? max_tokens,
    stop,
  }),
  compact: replaceBinaryData,
};

const responseReader: ResponseReader = {
  model,
  joinEvents: (events) => joinChatChunks(events),
  readUsage: readOpenAiUsage,
  compact: replaceBinaryData,
};

/** Replaces base64 data by its type and size. Audio is in the member `data`, and files are in `file_data`. */
function replaceBinaryData(body: JsonObject): JsonObject {
  return toObject(
    replaceTexts(body, (text, key, owner) => {
      if (key === "file_data") {
        return describeBase64(text.slice(text.indexOf(",") + 1), "file");
      }
      const isAudio = typeof owner["format"] === "string" || "transcript" in owner;
      return key === "data" && isAudio ? describeBase64(text, "audio") : undefined;
    }),
  );
}

/** A choice that is being assembled from the chunks of a stream. */
interface OpenChoice {
  readonly choice: MutableJsonObject;
  readonly message: MutableJsonObject;
  readonly toolCalls: OpenToolCall[];
}

interface OpenToolCall {
  /** The `index` of the call in the chunks; `undefined` if they have none. */
  readonly index: number | undefined;
  readonly call: MutableJsonObject;
}

/** Joins the chunks of a stream into the completion that a request without `stream` would have received. */
function joinChatChunks(events: readonly StreamedValue[]): JoinedStream {
  const completion: MutableJsonObject = {};
  const choices = new Map<number, OpenChoice>();
  const merger = new DeltaMerger();
  let hasFinished = false;
  for (const { value: chunk } of events) {
    for (const [key, member] of Object.entries(chunk)) {
      if (key === "choices") {
        hasFinished = addChoices(member, { choices, merger }) || hasFinished;
      } else if (!isPadding(key) && !isEmpty(member)) {
        setMember(completion, key, member);
      }
    }
  }
  if (choices.size === 0) {
    // The chunks contained only an error or the token counts.
    const hasContent = Object.keys(completion).some((key) => key !== "error");
    return { response: hasContent ? toCompletion(completion, []) : undefined, isFinished: false };
  }
  const joined = [...choices]
    .toSorted(([left], [right]) => left - right)
    .map(([, choice]) => closeChoice(choice));
  return { response: toCompletion(completion, joined), isFinished: hasFinished };
}

const toCompletion = (
  { object, ...members }: JsonObject,
  choices: readonly JsonObject[],
): JsonObject => ({
  ...members,
  ...(object === undefined
    ? {}
    : { object: object === "chat.completion.chunk" ? "chat.completion" : object }),
  choices,
});

/** Whether a member contains random characters, which OpenAI adds to hide the length of a chunk. */
const isPadding = (key: string): boolean => key === "obfuscation";

const isEmpty = (value: unknown): boolean => value === null || value === undefined || value === "";

/** The choices that were joined from the chunks read so far, and the merger that joins them. */
interface JoinedChoices {
  readonly choices: Map<number, OpenChoice>;
  readonly merger: DeltaMerger;
}

/** Adds the choices of a chunk. Returns whether one of them is finished. */
function addChoices(list: unknown, { choices, merger }: JoinedChoices): boolean {
  let hasFinished = false;
  for (const item of toList(list).filter(isJsonObject)) {
    const index = typeof item["index"] === "number" ? item["index"] : 0;
    let openChoice = choices.get(index);
    if (openChoice === undefined) {
      openChoice = { choice: { index }, message: {}, toolCalls: [] };
      choices.set(index, openChoice);
    }
    for (const [key, member] of Object.entries(item)) {
      if (key === "delta" || key === "message") {
        addDelta(openChoice, toObject(member), merger);
      } else if (key === "logprobs") {
        merger.merge(openChoice.choice, { logprobs: member });
      } else if (!isEmpty(member)) {
        setMember(openChoice.choice, key, member);
        hasFinished ||= key === "finish_reason";
      }
    }
  }
  return hasFinished;
}

function addDelta(
  { message, toolCalls }: OpenChoice,
  delta: JsonObject,
  merger: DeltaMerger,
): void {
  const { tool_calls: callDeltas, ...members } = delta;
  merger.merge(message, members);
  for (const callDelta of toList(callDeltas).filter(isJsonObject)) {
    const { index, ...parts } = callDelta;
    const position = typeof index === "number" ? index : undefined;
    let openCall = toolCalls.findLast((candidate) => isSameCall(candidate, position, parts));
    if (openCall === undefined) {
      openCall = { index: position, call: {} };
      toolCalls.push(openCall);
    }
    merger.merge(openCall.call, parts);
  }
}

/**
 * Whether a part belongs to a tool call. Some servers send each call with index 0, or without an index. Therefore a
 * part with a new id and a name begins a new call.
 */
function isSameCall(
  { index, call }: OpenToolCall,
  position: number | undefined,
  parts: JsonObject,
): boolean {
  const id = toText(parts["id"]);
  const isNew =
    id !== undefined &&
    call["id"] !== undefined &&
    id !== call["id"] &&
    toText(toObject(parts["function"] ?? parts["custom"])["name"]) !== undefined;
  return index === position && !isNew;
}

function closeChoice({ choice, message, toolCalls }: OpenChoice): JsonObject {
  const { index, finish_reason: reason = null, ...members } = choice;
  const calls = toolCalls
    .toSorted((left, right) => (left.index ?? 0) - (right.index ?? 0))
    .map(({ call }) => call);
  return {
    index,
    message: calls.length === 0 ? message : { ...message, tool_calls: calls },
    ...members,
    finish_reason: reason,
  };
}

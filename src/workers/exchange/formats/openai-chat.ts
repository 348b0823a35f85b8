import type { ExchangeFields, RawExchange } from "../../../model/records/exchange.ts";
import { describeBase64, replaceTexts } from "../parsing/binary-text.ts";
import { DeltaMerger } from "../parsing/deltas.ts";
import { isJsonObject, setMember, toList, toObject, toText } from "../parsing/json-object.ts";
import type { JsonObject, MutableJsonObject } from "../parsing/json-object.ts";
import type { ModelKind } from "../parsing/model-metadata.ts";
import { readRequest } from "../parsing/read-request.ts";
import type { RequestFormat } from "../parsing/read-request.ts";
import { readResponse } from "../parsing/read-response.ts";
import type { JoinedStream, ResponseFormat, StreamedValue } from "../parsing/read-response.ts";
import { readOpenAiUsage } from "../parsing/usage.ts";

/** Reads requests and responses of OpenAI's chat completions, and of servers with the same format. */
export const readOpenAiChat = (exchange: RawExchange): ExchangeFields =>
  exchange.part === "request"
    ? readRequest(exchange, requestFormat)
    : readResponse(exchange, responseFormat);

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
  compact: replaceRecordings,
};

const responseFormat: ResponseFormat = {
  model,
  joinEvents: (events) => joinChatChunks(events),
  readUsage: readOpenAiUsage,
  compact: replaceRecordings,
};

/** Replaces recorded speech: `input_audio` and `audio` have base64 in `data`, and files in `file_data`. */
function replaceRecordings(body: JsonObject): JsonObject {
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

/** A choice whose parts are added up. */
interface OpenChoice {
  readonly choice: MutableJsonObject;
  readonly message: MutableJsonObject;
  readonly toolCalls: OpenToolCall[];
}

interface OpenToolCall {
  /** The position that the chunks name; `undefined` if they name none. */
  readonly index: number | undefined;
  readonly call: MutableJsonObject;
}

/** Joins the chunks of a stream to the completion that a request without `stream` would have got. */
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
    // Chunks of an error, or of usage alone.
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

/** Random characters that hide the length of a chunk. */
const isPadding = (key: string): boolean => key === "obfuscation";

const isEmpty = (value: unknown): boolean => value === null || value === undefined || value === "";

interface Joining {
  readonly choices: Map<number, OpenChoice>;
  readonly merger: DeltaMerger;
}

/** Adds the choices of a chunk. Returns whether one of them is finished. */
function addChoices(list: unknown, { choices, merger }: Joining): boolean {
  let hasFinished = false;
  for (const item of toList(list).filter(isJsonObject)) {
    const index = typeof item["index"] === "number" ? item["index"] : 0;
    let open = choices.get(index);
    if (open === undefined) {
      open = { choice: { index }, message: {}, toolCalls: [] };
      choices.set(index, open);
    }
    for (const [key, member] of Object.entries(item)) {
      if (key === "delta" || key === "message") {
        addDelta(open, toObject(member), merger);
      } else if (key === "logprobs") {
        merger.merge(open.choice, { logprobs: member });
      } else if (!isEmpty(member)) {
        setMember(open.choice, key, member);
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
    let open = toolCalls.findLast((candidate) => isSameCall(candidate, position, parts));
    if (open === undefined) {
      open = { index: position, call: {} };
      toolCalls.push(open);
    }
    merger.merge(open.call, parts);
  }
}

/**
 * Whether a part belongs to a tool call. Some servers send each call with index 0, or without an index: a part with a new
 * id and a name begins a new call.
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

import type { ExchangeFields, RawExchange } from "../../../model/records/exchange.ts";
import { DeltaMerger } from "../parsing/deltas.ts";
import { isJsonObject, setMember, toList } from "../parsing/json-object.ts";
import type { MutableJsonObject } from "../parsing/json-object.ts";
import type { ModelKind } from "../parsing/model-metadata.ts";
import { readRequest } from "../parsing/read-request.ts";
import type { RequestFormat } from "../parsing/read-request.ts";
import { readResponse } from "../parsing/read-response.ts";
import type { JoinedStream, ResponseReader, StreamedValue } from "../parsing/read-response.ts";
import { readOpenAiUsage } from "../parsing/usage.ts";

/** Reads requests and responses of OpenAI's text completions. */
export const readOpenAiCompletions = (exchange: RawExchange): ExchangeFields =>
  exchange.part === "request"
    ? readRequest(exchange, requestFormat)
    : readResponse(exchange, responseReader);

const model: ModelKind = { type: "llm", provider: "openai" };

const requestFormat: RequestFormat = {
  name: "OpenAI",
  runType: "llm",
  model,
  readSettings: ({ model: name, temperature, max_tokens, stop }) => ({
    model: name,
    temperature,
    maxTokens: max_tokens,
    stop,
  }),
};

const responseReader: ResponseReader = {
  model,
  joinEvents: (events) => joinTextChunks(events),
  readUsage: readOpenAiUsage,
};

/** Joins the chunks of a stream: the texts and the log probabilities of each choice. */
function joinTextChunks(events: readonly StreamedValue[]): JoinedStream {
  const completion: MutableJsonObject = {};
  const choices = new Map<number, MutableJsonObject>();
  const merger = new DeltaMerger();
  for (const { value: chunk } of events) {
    for (const [key, member] of Object.entries(chunk)) {
      if (key !== "choices") {
        setMember(completion, key, member ?? completion[key]);
      }
    }
    for (const item of toList(chunk["choices"]).filter(isJsonObject)) {
      const { index = 0, ...parts } = item;
      const position = typeof index === "number" ? index : 0;
      const choice = choices.get(position) ?? { index: position };
      choices.set(position, choice);
      merger.merge(choice, parts);
    }
  }
  if (Object.keys(completion).every((key) => key === "error") && choices.size === 0) {
    return { response: undefined, isFinished: false };
  }
  const joined = [...choices]
    .toSorted(([left], [right]) => left - right)
    .map(([, choice]) => choice);
  return {
    response: { ...completion, choices: joined },
    isFinished: joined.some(({ finish_reason: reason }) => typeof reason === "string"),
  };
}

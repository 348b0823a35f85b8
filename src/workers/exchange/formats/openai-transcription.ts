import type { ExchangeFields, RawExchange } from "../../../model/records/exchange.ts";
import { toText, withoutUndefined } from "../parsing/json-object.ts";
import { readFormData } from "../parsing/multipart.ts";
import type { ModelKind } from "../parsing/model-metadata.ts";
import { readRequest } from "../parsing/read-request.ts";
import type { RequestFormat } from "../parsing/read-request.ts";
import { readResponse } from "../parsing/read-response.ts";
import type { JoinedStream, ResponseReader, StreamedValue } from "../parsing/read-response.ts";
import { readOpenAiUsage } from "../parsing/usage.ts";

/** Reads requests and responses of OpenAI's transcriptions and translations of speech. */
export const readOpenAiTranscription = (exchange: RawExchange): ExchangeFields =>
  exchange.part === "request"
    ? readRequest(exchange, requestFormat)
    : readResponse(exchange, responseReader);

const model: ModelKind = { type: "transcription", provider: "openai" };

const requestFormat: RequestFormat = {
  name: "OpenAITranscription",
  runType: "llm",
  model,
  readSettings: ({ model: name, temperature }) => ({
    model: name,
    temperature: temperature === undefined ? undefined : Number(temperature),
  }),
  readOther: readFormData,
};

const responseReader: ResponseReader = {
  model,
  joinEvents: (events) => joinTranscript(events),
  readUsage: readOpenAiUsage,
  // With `response_format` text, srt or vtt the response is the text itself.
  readOther: (body) =>
    "text" in body && body.text !== "" && !/^\s*</.test(body.text)
      ? { response: { text: body.text }, isFinished: true }
      : undefined,
};

/** Joins the events of a streamed transcript. The last event has the whole text. */
function joinTranscript(events: readonly StreamedValue[]): JoinedStream {
  const doneEvent = events.find(({ value }) => value["type"] === "transcript.text.done")?.value;
  const ofType = (type: string) =>
    events.map(({ value }) => value).filter((value) => value["type"] === type);
  const deltas = ofType("transcript.text.delta");
  const segments = ofType("transcript.text.segment").map(({ type: _type, ...segment }) => segment);
  if (doneEvent === undefined && deltas.length === 0 && segments.length === 0) {
    return { response: undefined, isFinished: false };
  }
  const { type: _type, ...members } = doneEvent ?? {};
  const response = withoutUndefined({
    text: deltas.map(({ delta }) => toText(delta) ?? "").join(""),
    segments: segments.length === 0 ? undefined : segments,
    ...members,
  });
  return { response, isFinished: doneEvent !== undefined };
}

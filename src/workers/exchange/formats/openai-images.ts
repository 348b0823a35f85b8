import type { ExchangeFields, RawExchange } from "../../../model/records/exchange.ts";
import { describeBase64, replaceTexts } from "../parsing/binary-text.ts";
import { setMember, toObject, toText } from "../parsing/json-object.ts";
import type { JsonObject, MutableJsonObject } from "../parsing/json-object.ts";
import { readFormData } from "../parsing/multipart.ts";
import type { ModelKind } from "../parsing/model-metadata.ts";
import { readRequest } from "../parsing/read-request.ts";
import type { RequestFormat } from "../parsing/read-request.ts";
import { readResponse } from "../parsing/read-response.ts";
import type { JoinedStream, ResponseReader, StreamedValue } from "../parsing/read-response.ts";
import { readOpenAiUsage } from "../parsing/usage.ts";

/**
 * Reads requests and responses of OpenAI's image API. Of an image that a response contains, only type and size are
 * recorded.
 */
export const readOpenAiImages = (exchange: RawExchange): ExchangeFields =>
  exchange.part === "request"
    ? readRequest(exchange, requestFormat)
    : readResponse(exchange, responseReader);

const model: ModelKind = { type: "image", provider: "openai" };

const requestFormat: RequestFormat = {
  name: "OpenAIImages",
  runType: "llm",
  model,
  readSettings: ({ model: name }) => ({ model: name }),
  readOther: readFormData,
};

const responseReader: ResponseReader = {
  model,
  joinEvents: (events) => joinImageEvents(events),
  readUsage: readOpenAiUsage,
  compact: replaceImages,
};

function replaceImages(response: JsonObject): JsonObject {
  const format = toText(response["output_format"]) ?? "png";
  return toObject(
    replaceTexts(response, (text, key) =>
      key === "b64_json" ? describeBase64(text, `image/${format}`) : undefined,
    ),
  );
}

/** Members of an image in the response. The other members of an event belong to the response. */
const imageKeys: ReadonlySet<string> = new Set(["b64_json", "url", "revised_prompt"]);

/** Joins the events of a streamed image. Previews of an image are left out. */
function joinImageEvents(events: readonly StreamedValue[]): JoinedStream {
  const completed = events.filter(({ value }) => toText(value["type"])?.endsWith(".completed"));
  if (completed.length === 0) {
    return { response: undefined, isFinished: false };
  }
  const response: MutableJsonObject = {};
  const images = completed.map(({ value }) => {
    const image: MutableJsonObject = {};
    for (const [key, member] of Object.entries(value)) {
      if (imageKeys.has(key)) {
        image[key] = member;
      } else if (key === "created_at") {
        response["created"] = member;
      } else if (key !== "type") {
        setMember(response, key, member);
      }
    }
    return image;
  });
  return { response: { ...response, data: images }, isFinished: true };
}

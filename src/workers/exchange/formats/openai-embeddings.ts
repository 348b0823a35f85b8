import type { ExchangeFields, RawExchange } from "../../../model/records/exchange.ts";
import { describeVector } from "../parsing/binary-text.ts";
import { isJsonObject } from "../parsing/json-object.ts";
import type { JsonObject } from "../parsing/json-object.ts";
import type { ModelKind } from "../parsing/model-metadata.ts";
import { readRequest } from "../parsing/read-request.ts";
import type { RequestFormat } from "../parsing/read-request.ts";
import { readResponse } from "../parsing/read-response.ts";
import type { ResponseReader } from "../parsing/read-response.ts";
import { readOpenAiUsage } from "../parsing/usage.ts";

/** Reads requests and responses of OpenAI's embeddings. For long vectors, only the number of dimensions is recorded. */
export const readOpenAiEmbeddings = (exchange: RawExchange): ExchangeFields =>
  exchange.part === "request"
    ? readRequest(exchange, requestFormat)
    : readResponse(exchange, responseReader);

const model: ModelKind = { type: "embedding", provider: "openai" };

const requestFormat: RequestFormat = {
  name: "OpenAIEmbeddings",
  runType: "embedding",
  model,
  readSettings: ({ model: name }) => ({ model: name }),
};

const responseReader: ResponseReader = {
  model,
  joinEvents: () => ({ response: undefined, isFinished: false }),
  readUsage: readOpenAiUsage,
  compact: replaceVectors,
};

function replaceVectors(response: JsonObject): JsonObject {
  const { data } = response;
  if (!Array.isArray(data)) {
    return response;
  }
  const items = data.map((item: unknown) =>
    isJsonObject(item) ? { ...item, embedding: describeVector(item["embedding"]) } : item,
  );
  return { ...response, data: items };
}

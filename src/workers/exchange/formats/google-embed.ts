import type { ExchangeFields, RawExchange } from "../../../model/records/exchange.ts";
import { describeVector } from "../parsing/binary-text.ts";
import { isJsonObject, toList, toObject } from "../parsing/json-object.ts";
import type { JsonObject, MutableJsonObject } from "../parsing/json-object.ts";
import type { ModelKind } from "../parsing/model-metadata.ts";
import { readRequest } from "../parsing/read-request.ts";
import type { RequestFormat } from "../parsing/read-request.ts";
import { readResponse } from "../parsing/read-response.ts";
import type { ResponseReader } from "../parsing/read-response.ts";
import { readCount, readUsage } from "../parsing/usage.ts";
import type { UsageMetadata } from "../parsing/usage.ts";
import type { Warnings } from "../parsing/warnings.ts";

/** Reads requests and responses of Gemini's embeddings. For long vectors, only the number of dimensions is recorded. */
export const readGoogleEmbed = (exchange: RawExchange): ExchangeFields =>
  exchange.part === "request"
    ? readRequest(exchange, requestFormat)
    : readResponse(exchange, responseReader);

const model: ModelKind = { type: "embedding", provider: "google" };

const requestFormat: RequestFormat = {
  name: "GoogleGenerativeAIEmbeddings",
  runType: "embedding",
  model,
  readSettings: ({ model: name }) => ({ model: name }),
};

const responseReader: ResponseReader = {
  model,
  joinEvents: () => ({ response: undefined, isFinished: false }),
  readUsage: readEmbedUsage,
  compact: replaceVectors,
};

/** Vertex AI reports the tokens of each text, Gemini's API those of the request. */
function readEmbedUsage(response: JsonObject, warnings: Warnings): UsageMetadata | undefined {
  const countsPerText = toList(response["predictions"]).map((prediction) => {
    const { statistics } = toObject(toObject(prediction)["embeddings"]);
    return readCount([[statistics, "token_count"]], warnings);
  });
  const counts = {
    input: countsPerText.every((count) => count === undefined)
      ? undefined
      : countsPerText.reduce<number>((sum, count) => sum + (count ?? 0), 0),
  };
  return readUsage(
    {
      input: [
        [response["usageMetadata"], "promptTokenCount"],
        [counts, "input"],
      ],
      output: [],
      total: [[response["usageMetadata"], "totalTokenCount"]],
      inputDetails: {},
      outputDetails: {},
    },
    warnings,
  );
}

/**
 * Replaces long vectors in `embedding`, `embeddings` and Vertex AI's `predictions` by the number of their dimensions.
 */
function replaceVectors(response: JsonObject): JsonObject {
  const replaced: MutableJsonObject = { ...response };
  if (isJsonObject(response["embedding"])) {
    replaced["embedding"] = replaceValues(response["embedding"]);
  }
  if (Array.isArray(response["embeddings"])) {
    replaced["embeddings"] = response["embeddings"].map(replaceValues);
  }
  if (Array.isArray(response["predictions"])) {
    replaced["predictions"] = response["predictions"].map((prediction: unknown) =>
      isJsonObject(prediction)
        ? { ...prediction, embeddings: replaceValues(prediction["embeddings"]) }
        : prediction,
    );
  }
  return replaced;
}

const replaceValues = (embedding: unknown): unknown =>
  isJsonObject(embedding)
    ? { ...embedding, values: describeVector(embedding["values"]) }
    : embedding;

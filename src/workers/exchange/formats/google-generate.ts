import type { ExchangeFields, RawExchange } from "../../../model/records/exchange.ts";
import { describeBase64 } from "../parsing/binary-text.ts";
import { isJsonObject, setMember, toList, toObject, toText } from "../parsing/json-object.ts";
import type { JsonObject, MutableJsonObject } from "../parsing/json-object.ts";
import { splitJsonArray } from "../parsing/json-array.ts";
import { findProviderError } from "../parsing/provider-error.ts";
import type { ModelKind } from "../parsing/model-metadata.ts";
import { readRequest } from "../parsing/read-request.ts";
import type { RequestFormat } from "../parsing/read-request.ts";
import { readResponse } from "../parsing/read-response.ts";
import type { JoinedStream, ResponseReader } from "../parsing/read-response.ts";
import { readCount, readUsage } from "../parsing/usage.ts";
import type { UsageMetadata } from "../parsing/usage.ts";
import type { Warnings } from "../parsing/warnings.ts";

/** Reads requests and responses of Gemini's `generateContent` and `streamGenerateContent`. */
export const readGoogleGenerate = (exchange: RawExchange): ExchangeFields =>
  exchange.part === "request"
    ? readRequest(exchange, requestFormat)
    : readResponse(exchange, responseReader);

const model: ModelKind = { type: "chat", provider: "google" };

const requestFormat: RequestFormat = {
  name: "ChatGoogleGenerativeAI",
  runType: "llm",
  model,
  readSettings: (request) => {
    const settings = toObject(request["generationConfig"]);
    return {
      model: request["model"],
      temperature: settings["temperature"],
      maxTokens: settings["maxOutputTokens"],
      stop: settings["stopSequences"],
    };
  },
};

const responseReader: ResponseReader = {
  model,
  joinEvents: (events) => joinResponses(events.map(({ value }) => value)),
  readUsage: readGoogleUsage,
  compact: replaceGeneratedData,
  // Without `alt=sse` a stream is one JSON array of responses.
  readOther: (body, warnings) => {
    const items = "value" in body ? toList(body.value) : splitJsonArray(body.text, warnings);
    const responses = items.filter(isJsonObject);
    if (responses.length === 0) {
      return undefined;
    }
    const error = responses.map(findProviderError).find((text) => text !== undefined);
    return { ...joinResponses(responses), ...(error === undefined ? {} : { error }) };
  },
  findError: findBlockReason,
};

/** Returns why the prompt was blocked, if it was. The response then has no candidates. */
function findBlockReason(response: JsonObject): string | undefined {
  const feedback = toObject(response["promptFeedback"]);
  const reason = toText(feedback["blockReason"]);
  return reason === undefined || toList(response["candidates"]).length > 0
    ? undefined
    : ["The prompt was blocked:", reason, toText(feedback["blockReasonMessage"])]
        .filter(Boolean)
        .join(" ");
}

/**
 * Reads Gemini's token counts. `promptTokenCount` includes the cached tokens. `candidatesTokenCount` does not include
 * the tokens of thoughts, so these are added.
 */
function readGoogleUsage(response: JsonObject, warnings: Warnings): UsageMetadata | undefined {
  const usage = response["usageMetadata"];
  if (!isJsonObject(usage)) {
    return undefined;
  }
  const count = (name: string) => readCount([[usage, name]], warnings);
  const [prompt, tool] = [count("promptTokenCount"), count("toolUsePromptTokenCount")];
  const [candidates, thoughts] = [count("candidatesTokenCount"), count("thoughtsTokenCount")];
  const isReported = candidates !== undefined || thoughts !== undefined;
  const counts = {
    input: prompt === undefined ? undefined : prompt + (tool ?? 0),
    output: isReported ? (candidates ?? 0) + (thoughts ?? 0) : undefined,
  };
  return readUsage(
    {
      input: [[counts, "input"]],
      output: [[counts, "output"]],
      total: [[usage, "totalTokenCount"]],
      inputDetails: {
        cache_read: [[usage, "cachedContentTokenCount"]],
        ...readModalities(usage["promptTokensDetails"]),
      },
      outputDetails: {
        reasoning: [[usage, "thoughtsTokenCount"]],
        ...readModalities(usage["candidatesTokensDetails"]),
      },
    },
    warnings,
  );
}

/** Returns, for each modality other than text, where a list of token details reports its token count. */
const readModalities = (details: unknown) =>
  Object.fromEntries(
    toList(details)
      .filter(isJsonObject)
      .filter(({ modality }) => typeof modality === "string" && modality !== "TEXT")
      .map(
        (detail) => [String(detail["modality"]).toLowerCase(), [[detail, "tokenCount"]]] as const,
      ),
  );

/** Replaces the data of images and audio that the model created by type and size. */
function replaceGeneratedData(response: JsonObject): JsonObject {
  const { candidates } = response;
  if (!Array.isArray(candidates)) {
    return response;
  }
  const replaced = candidates.map((candidate: unknown) => {
    const content = isJsonObject(candidate) ? candidate["content"] : undefined;
    const parts = isJsonObject(content) ? content["parts"] : undefined;
    return isJsonObject(candidate) && isJsonObject(content) && Array.isArray(parts)
      ? { ...candidate, content: { ...content, parts: parts.map(replaceInlineData) } }
      : candidate;
  });
  return { ...response, candidates: replaced };
}

function replaceInlineData(part: unknown): unknown {
  const inlineData = isJsonObject(part) ? part["inlineData"] : undefined;
  if (!isJsonObject(part) || !isJsonObject(inlineData) || typeof inlineData["data"] !== "string") {
    return part;
  }
  const type = toText(inlineData["mimeType"]) ?? "data";
  return { ...part, inlineData: { ...inlineData, data: describeBase64(inlineData["data"], type) } };
}

/** Joins the responses of a stream into the one that `generateContent` would have returned. */
function joinResponses(responses: readonly JsonObject[]): JoinedStream {
  const joined: MutableJsonObject = {};
  const candidates = new Map<number, MutableJsonObject>();
  for (const response of responses) {
    for (const [key, member] of Object.entries(response)) {
      if (key !== "candidates" && key !== "error") {
        setMember(joined, key, member);
      }
    }
    for (const candidate of toList(response["candidates"]).filter(isJsonObject)) {
      const index = typeof candidate["index"] === "number" ? candidate["index"] : 0;
      const openCandidate = candidates.get(index) ?? {};
      candidates.set(index, openCandidate);
      addCandidate(openCandidate, candidate);
    }
  }
  if (Object.keys(joined).length === 0 && candidates.size === 0) {
    return { response: undefined, isFinished: false };
  }
  const candidateList = [...candidates]
    .toSorted(([left], [right]) => left - right)
    .map(([, candidate]) => candidate);
  return {
    response: candidateList.length === 0 ? joined : { candidates: candidateList, ...joined },
    isFinished:
      candidateList.some((candidate) => toText(candidate["finishReason"]) !== undefined) ||
      toObject(joined["promptFeedback"])["blockReason"] !== undefined,
  };
}

function addCandidate(openCandidate: MutableJsonObject, candidate: JsonObject): void {
  for (const [key, member] of Object.entries(candidate)) {
    if (key !== "content" || !isJsonObject(member)) {
      setMember(openCandidate, key, member);
      continue;
    }
    const { parts: addedParts, ...content } = member;
    const knownContent = toObject(openCandidate["content"]);
    const parts: unknown[] = Array.isArray(knownContent["parts"]) ? knownContent["parts"] : [];
    toList(addedParts).forEach((part) => addPart(parts, part));
    openCandidate["content"] = {
      ...knownContent,
      ...content,
      ...(parts.length === 0 ? {} : { parts }),
    };
  }
}

/** Appends a part. Consecutive texts are joined into one text, and consecutive thoughts into one thought. */
function addPart(parts: unknown[], part: unknown): void {
  const lastPart = parts.at(-1);
  if (isTextPart(part) && isTextPart(lastPart) && lastPart["thought"] === part["thought"]) {
    parts[parts.length - 1] = { ...lastPart, ...part, text: `${lastPart.text}${part.text}` };
  } else {
    parts.push(part);
  }
}

type TextPart = JsonObject & { readonly text: string };

const textPartKeys: ReadonlySet<string> = new Set(["text", "thought", "thoughtSignature"]);

const isTextPart = (part: unknown): part is TextPart =>
  isJsonObject(part) &&
  typeof part["text"] === "string" &&
  Object.keys(part).every((key) => textPartKeys.has(key));

import type { RawExchange } from "../../../model/records/exchange.ts";
import { toText, withoutUndefined } from "./json-object.ts";
import type { JsonObject } from "./json-object.ts";

/** The kind of models that are called with a format. */
export interface ModelKind {
  readonly type: "chat" | "llm" | "embedding" | "image" | "transcription";
  /** The provider that defined the format. It is recorded unless the host of the server identifies another provider. */
  readonly provider: string;
}

/** The model and the settings that a request names. */
export interface ModelSettings {
  readonly model: unknown;
  readonly temperature?: unknown;
  readonly maxTokens?: unknown;
  readonly stop?: unknown;
}

/** The metadata of a run that names its model, with the keys of LangSmith's clients. */
export function toModelMetadata(
  { url = "" }: RawExchange,
  kind: ModelKind,
  { model, temperature, maxTokens, stop }: ModelSettings,
): JsonObject {
  const stops = toText(stop) === undefined ? stop : [stop];
  return withoutUndefined({
    ls_provider: findProvider(url) ?? kind.provider,
    ls_model_type: kind.type,
    ls_model_name: toText(model) ?? findModel(url),
    ls_temperature: typeof temperature === "number" ? temperature : undefined,
    ls_max_tokens: typeof maxTokens === "number" ? maxTokens : undefined,
    ls_stop: Array.isArray(stops) ? stops : undefined,
  });
}

/**
 * Providers that the host of the server identifies. For any other host, the provider that defined the format is
 * recorded.
 */
const providersByHost: readonly (readonly [host: RegExp, provider: string])[] = [
  [/\.openai\.azure\.com$|\.cognitiveservices\.azure\.com$|\.services\.ai\.azure\.com$/, "azure"],
  [/^bedrock-runtime[.-].*\.amazonaws\.com$/, "amazon_bedrock"],
  [/(?:^|[.-])aiplatform\.googleapis\.com$/, "google_vertexai"],
  [/(?:^|\.)groq\.com$/, "groq"],
  [/(?:^|\.)mistral\.ai$/, "mistral"],
  [/(?:^|\.)deepseek\.com$/, "deepseek"],
  [/(?:^|\.)x\.ai$/, "xai"],
  [/(?:^|\.)together\.(?:ai|xyz)$/, "together"],
  [/(?:^|\.)fireworks\.ai$/, "fireworks"],
  [/(?:^|\.)openrouter\.ai$/, "openrouter"],
];

function findProvider(url: string): string | undefined {
  const host = toAddress(url)?.hostname;
  return host === undefined
    ? undefined
    : providersByHost.find(([pattern]) => pattern.test(host))?.[1];
}

/** The model in the path of Gemini's, Vertex AI's, Azure's and Bedrock's APIs. */
function findModel(url: string): string | undefined {
  const path = toAddress(url)?.pathname ?? "";
  const match =
    /\/(?:models|tunedModels)\/([^/:]+)(?::|$)/.exec(path) ??
    /\/deployments\/([^/]+)\//.exec(path) ??
    /\/model\/([^/]+)\/(?:invoke|converse)/.exec(path);
  return match?.[1] === undefined ? undefined : decodePath(match[1]);
}

/** Parses an address, which may be recorded without its scheme. */
const toAddress = (url: string): URL | undefined => {
  const address = /^[a-z][a-z\d+.-]*:\/\//i.test(url) ? url : `https://${url}`;
  return URL.canParse(address) ? new URL(address) : undefined;
};

function decodePath(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // A percent sign that encodes nothing is part of the name.
  }
}

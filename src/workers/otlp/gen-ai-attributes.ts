import type { ChatMessage, MessagePart } from "./chat-messages.ts";
import { firstNumber, toItems } from "./json-value.ts";
import type { ModelCall } from "./model-call.ts";
import { toDouble } from "./protobuf-writer.ts";
import type { SpanAttributes, SpanValue } from "./protobuf-writer.ts";
import type { SpanRun } from "./span-run.ts";

/** Operations by run type. Other run types have none. */
const operations: Readonly<Record<string, string>> = {
  llm: "chat",
  embedding: "embeddings",
  tool: "execute_tool",
  retriever: "retrieval",
};

/** The names of providers in the conventions, by the names that LangChain and LangSmith use. */
const providers: Readonly<Record<string, string>> = {
  amazon_bedrock: "aws.bedrock",
  azure: "azure.ai.openai",
  azure_openai: "azure.ai.openai",
  bedrock: "aws.bedrock",
  google: "gcp.gemini",
  google_genai: "gcp.gemini",
  google_vertexai: "gcp.vertex_ai",
  mistralai: "mistral_ai",
  xai: "x_ai",
};

/** Numeric parameters of requests: for each attribute, the names that APIs use for the parameter. */
const numericParams: Readonly<Record<string, readonly string[]>> = {
  temperature: ["temperature"],
  top_p: ["top_p", "topP"],
  top_k: ["top_k", "topK"],
  frequency_penalty: ["frequency_penalty"],
  presence_penalty: ["presence_penalty"],
};

const integerParams: Readonly<Record<string, readonly string[]>> = {
  max_tokens: ["max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens"],
  seed: ["seed"],
};

/**
 * Matches a tag that a reader of a comma-separated list gets back unchanged: it has no comma, no space at its ends, and
 * does not begin like a JSON list.
 */
const separableTag = /^(?![\s[])[^,]+(?<!\s)$/u;

/** Adds the attributes of OpenTelemetry's semantic conventions for generative AI. */
export function addGenAiAttributes(
  attributes: SpanAttributes,
  run: SpanRun,
  call: ModelCall | undefined,
): void {
  const operation = Object.hasOwn(operations, run.runType) ? operations[run.runType] : undefined;
  add(attributes, "gen_ai.operation.name", operation);
  add(attributes, "gen_ai.conversation.id", run.threadId);
  add(attributes, "user.id", run.userId);
  if (run.tags.length > 0) {
    // LangSmith expects the tags as one text, separated by commas. If it would read other tags from that text, they are
    // sent as a list.
    const isSeparable = run.tags.every((tag) => separableTag.test(tag));
    attributes.set("langsmith.span.tags", isSeparable ? run.tags.join(",") : run.tags);
  }
  for (const [name, value] of Object.entries(run.metadata)) {
    add(attributes, `langsmith.metadata.${name}`, toAttribute(value));
  }
  if (run.runType === "tool") {
    attributes.set("gen_ai.tool.name", run.name);
    add(attributes, "gen_ai.tool.call.arguments", run.readJson("inputs"));
    add(attributes, "gen_ai.tool.call.result", run.readJson("outputs"));
  }
  if (call !== undefined) {
    addModelCall(attributes, call);
  }
}

function addModelCall(attributes: SpanAttributes, call: ModelCall): void {
  const { provider, usage, params } = call;
  const providerName =
    provider !== undefined && Object.hasOwn(providers, provider) ? providers[provider] : provider;
  add(attributes, "gen_ai.provider.name", providerName);
  add(attributes, "gen_ai.request.model", call.requestModel);
  for (const [name, keys] of Object.entries(numericParams)) {
    const value = firstNumber(...keys.map((key) => params[key]));
    add(attributes, `gen_ai.request.${name}`, toDouble(value));
  }
  for (const [name, keys] of Object.entries(integerParams)) {
    add(attributes, `gen_ai.request.${name}`, firstNumber(...keys.map((key) => params[key])));
  }
  const stop = params["stop"] ?? params["stop_sequences"];
  const sequences = (typeof stop === "string" ? [stop] : toItems(stop)).filter(isText);
  addList(attributes, "gen_ai.request.stop_sequences", sequences);
  addJson(attributes, "gen_ai.tool.definitions", call.tools);
  add(attributes, "gen_ai.response.model", call.responseModel);
  add(attributes, "gen_ai.response.id", call.responseId);
  addList(attributes, "gen_ai.response.finish_reasons", call.finishReasons);
  add(attributes, "gen_ai.usage.input_tokens", usage.input);
  add(attributes, "gen_ai.usage.output_tokens", usage.output);
  add(attributes, "gen_ai.usage.cache_read.input_tokens", usage.cacheRead);
  add(attributes, "gen_ai.usage.cache_write.input_tokens", usage.cacheWrite);
  add(attributes, "gen_ai.usage.reasoning.output_tokens", usage.reasoning);
  add(attributes, "gen_ai.usage.cost", toDouble(call.cost.total));
  addJson(attributes, "gen_ai.system_instructions", call.instructions.map(toSpanPart));
  addJson(attributes, "gen_ai.input.messages", call.inputMessages.map(toSpanMessage));
  addJson(attributes, "gen_ai.output.messages", call.outputMessages.map(toSpanMessage));
}

const isText = (value: unknown): value is string => typeof value === "string";

function add(attributes: SpanAttributes, name: string, value: SpanValue | undefined): void {
  if (value !== undefined) {
    attributes.set(name, value);
  }
}

function addList(attributes: SpanAttributes, name: string, texts: readonly string[]): void {
  if (texts.length > 0) {
    attributes.set(name, texts);
  }
}

function addJson(attributes: SpanAttributes, name: string, items: readonly unknown[]): void {
  if (items.length > 0) {
    attributes.set(name, JSON.stringify(items));
  }
}

/** Returns texts, numbers and booleans as they are, and any other value as JSON. */
export const toAttribute = (value: unknown): SpanValue | undefined => {
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") {
    return value;
  }
  return value === undefined || value === null ? undefined : JSON.stringify(value);
};

const toSpanMessage = ({ role, parts, name, finishReason }: ChatMessage): unknown => ({
  role,
  parts: parts.map(toSpanPart),
  ...(name === undefined ? {} : { name }),
  ...(finishReason === undefined ? {} : { finish_reason: finishReason }),
});

const toSpanPart = (part: MessagePart): unknown => (part.type === "other" ? part.value : part);

import { threadKeys, userKeys } from "../../model/metadata-keys.ts";
import { readAiOperation } from "./ai-sdk.ts";
import type { AttributeBag } from "./attribute-bag.ts";
import { parseJson, readJson, toJson } from "./json-text.ts";
import type { AttributeValue, Attributes, Span, SpanLink } from "./span.ts";
import { takeToolDefinitions } from "./tool-definitions.ts";

type Members = Readonly<Record<string, unknown>>;

/** Reads tags from a list, a JSON list, or a comma-separated text. */
export function takeTags(bag: AttributeBag): readonly string[] | undefined {
  const tags = [
    ...["langsmith.span.tags", "tag.tags"].flatMap((name) => toTags(bag.take(name))),
    ...toTags(bag.peek("ai.telemetry.metadata.tags")),
  ];
  return tags.length === 0 ? undefined : [...new Set(tags)];
}

function toTags(value: unknown): readonly string[] {
  if (typeof value === "string") {
    const json = /^\s*\[/.test(value) ? parseList(value) : undefined;
    return json === undefined
      ? value
          .split(",")
          .map((tag) => tag.trim())
          .filter(Boolean)
      : toTags(json);
  }
  return Array.isArray(value)
    ? value.map((tag) => (typeof tag === "string" ? tag : toJson(tag)))
    : [];
}

const parseList = (text: string): readonly unknown[] | undefined => {
  const value = parseJson(text);
  return Array.isArray(value) ? value : undefined;
};

/**
 * Names of attributes in different conventions, by the metadata name that runs use. If a span has several of the
 * attributes, the first one is used.
 */
const attributeNames: Readonly<Record<string, readonly string[]>> = {
  ls_model_name: [
    "gen_ai.request.model",
    "gen_ai.response.model",
    "ai.model.id",
    "llm.model_name",
    "embedding.model_name",
  ],
  ls_temperature: ["gen_ai.request.temperature", "ai.settings.temperature"],
  ls_max_tokens: [
    "gen_ai.request.max_tokens",
    "ai.settings.maxOutputTokens",
    "ai.settings.maxTokens",
  ],
  ls_stop: ["gen_ai.request.stop_sequences"],
};

const providerAttributes = [
  "gen_ai.provider.name",
  "gen_ai.system",
  "ai.model.provider",
  "llm.provider",
  "llm.system",
];

/** Attributes that contain the id of the conversation, the most specific first. */
const threadIdAttributes = [
  "gen_ai.conversation.id",
  "session.id",
  "langfuse.session.id",
  "ai.telemetry.metadata.threadId",
  "ai.telemetry.metadata.thread_id",
  "ai.telemetry.metadata.conversationId",
  "ai.telemetry.metadata.sessionId",
  "ai.telemetry.metadata.session_id",
];

const userIdAttributes = [
  "user.id",
  "langfuse.user.id",
  "enduser.id",
  "ai.telemetry.metadata.userId",
  "ai.telemetry.metadata.user_id",
];

/** Creates the metadata of a run: the description of the span, and all remaining attributes with their types. */
export function toMetadata(span: Span, bag: AttributeBag): Members {
  const explicitMembers = {
    ...Object.fromEntries(bag.peekAll("ai.telemetry.metadata.")),
    ...Object.fromEntries(bag.takeAll("traceloop.association.properties.")),
    ...bag.takeObject("metadata"),
    ...bag.takeObject("langsmith.metadata"),
    ...Object.fromEntries(bag.takeAll("langsmith.metadata.")),
  };
  const aliasedMembers = Object.fromEntries(
    Object.entries(attributeNames)
      .map(([name, sources]) => [name, bag.peek(...sources)] as const)
      .filter(([, value]) => value !== undefined),
  );
  const warnings = bag.listWarnings();
  return {
    ...Object.fromEntries(maskCredentials(span.resource)),
    ...removeEmpty({
      "otel.scope.name": span.scopeName,
      "otel.scope.version": span.scopeVersion,
      "otel.trace_id": span.traceId,
      "otel.span_id": span.spanId,
      "otel.parent_span_id": span.parentSpanId,
      "otel.span_kind": span.kind,
      "otel.trace_state": span.traceState,
    }),
    ...aliasedMembers,
    ...readProvider(bag),
    ...readThreadAndUser(bag, explicitMembers),
    ...Object.fromEntries(maskCredentials(bag.listRemaining())),
    ...explicitMembers,
    ...(warnings.length === 0 ? {} : { "otel.warnings": warnings }),
  };
}

/**
 * Reads the provider. The AI SDK appends the kind of API to the provider, as in `anthropic.messages`. Only the
 * attribute itself, which stays in the metadata, keeps that kind.
 */
function readProvider(bag: AttributeBag): Members {
  const value = bag.peek(...providerAttributes);
  if (value === undefined) {
    return {};
  }
  const isAiProvider = typeof value === "string" && readAiOperation(bag) !== undefined;
  return { ls_provider: isAiProvider ? value.split(".")[0] : value };
}

/**
 * Reads the ids of the conversation and of the user. Metadata that the program itself set takes precedence, under any
 * of the names for a conversation or a user. A run belongs to one conversation, so `session_id` and `thread_id` get the
 * same value.
 */
function readThreadAndUser(bag: AttributeBag, explicitMembers: Members): Members {
  const findOwn = (keys: readonly string[]): unknown =>
    keys.map((key) => explicitMembers[key]).find((value) => value !== undefined);
  const threadId = findOwn(threadKeys) ?? readId(bag, threadIdAttributes);
  const userId = findOwn(userKeys) ?? readId(bag, userIdAttributes);
  return {
    ...(threadId === undefined ? {} : { session_id: threadId, thread_id: threadId }),
    ...(userId === undefined ? {} : { user_id: userId }),
  };
}

/** Returns the first id. A number is converted to a text, because conversations are searched by texts. */
function readId(bag: AttributeBag, names: readonly string[]): string | undefined {
  return names
    .map((name) => bag.peek(name))
    .filter((value) => typeof value === "string" || isNumeric(value))
    .map(String)
    .find((id) => id !== "");
}

const isNumeric = (value: AttributeValue | undefined): boolean =>
  typeof value === "number" || typeof value === "bigint";

/** Headers of requests that some libraries record. The AI SDK records all headers that the program passed. */
const headerPattern = /^(?:ai\.request\.headers|https?\.request\.header)\.(.+)$/;
const credentialPattern = /auth|key|token|secret|cookie|password|signature/i;

/** Replaces the values of headers that contain credentials. */
const maskCredentials = (attributes: Attributes): readonly (readonly [string, AttributeValue])[] =>
  [...attributes].map(([name, value]) => {
    const header = headerPattern.exec(name)?.[1];
    return header !== undefined && credentialPattern.test(header) ? [name, "***"] : [name, value];
  });

/** Prefixes of the parameters of a model call. Older conventions use a separate prefix for each provider. */
const paramPrefixes = [
  "gen_ai.openai.request.",
  "openai.request.",
  "anthropic.request.",
  "gen_ai.request.",
];

/**
 * Collects the parameters of a model call. Parameters with one of the prefixes also stay in the metadata, under their
 * original names.
 */
export function toInvocationParams(bag: AttributeBag): Members | undefined {
  const { stop_sequences: stop, ...request } = Object.fromEntries(
    paramPrefixes.flatMap((prefix) => [...bag.peekAll(prefix)]),
  );
  const definitions = takeJson(bag, "gen_ai.tool.definitions");
  const aiTools = takeJson(bag, "ai.prompt.tools");
  const toolChoice = takeJson(bag, "ai.prompt.toolChoice");
  const tools = takeToolDefinitions(bag);
  const params = {
    ...bag.takeObject("llm.invocation_parameters"),
    ...request,
    ...(stop === undefined ? {} : { stop }),
    ...(tools.length === 0 ? {} : { tools }),
    ...(aiTools === undefined ? {} : { tools: aiTools }),
    ...(toolChoice === undefined ? {} : { tool_choice: toolChoice }),
    ...(definitions === undefined ? {} : { tools: definitions }),
  };
  return Object.keys(params).length === 0 ? undefined : params;
}

/** Takes a value that is JSON text, a list of JSON texts, or not JSON. A malformed text is kept, with a warning. */
function takeJson(bag: AttributeBag, name: string): unknown {
  const value = bag.take(name);
  const parse = (item: AttributeValue): unknown => {
    const json = typeof item === "string" && item !== "" ? readJson(item) : undefined;
    if (json === undefined && typeof item === "string") {
      bag.warn(name, "is not JSON", item);
    }
    return json ?? item;
  };
  if (value === undefined) {
    return undefined;
  }
  return isList(value) ? value.map(parse) : parse(value);
}

const isList = (value: AttributeValue | undefined): value is readonly AttributeValue[] =>
  Array.isArray(value);

/** Converts the links of a span, which refer to spans other than its parent. */
export const toLinks = (links: readonly SpanLink[]): readonly Members[] =>
  links.map(({ traceId, spanId, attributes }) => ({
    trace_id: traceId,
    span_id: spanId,
    attributes: Object.fromEntries(attributes),
  }));

const removeEmpty = (members: Readonly<Record<string, string>>): Members =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== ""));

import { toIso } from "../http/wire-text.ts";
import type { AttributeBag } from "./attribute-bag.ts";
import { parseJson, toJson } from "./json-text.ts";
import type { Span, SpanEvent, SpanLink } from "./span.ts";

type Members = Readonly<Record<string, unknown>>;

/** Reads tags from a list, a JSON list, or a comma-separated text. */
export function takeTags(bag: AttributeBag): readonly string[] | undefined {
  const tags = ["langsmith.span.tags", "tag.tags"].flatMap((name) => toTags(bag.take(name)));
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
  ls_provider: ["gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system"],
  ls_model_name: [
    "gen_ai.request.model",
    "gen_ai.response.model",
    "llm.model_name",
    "embedding.model_name",
  ],
  ls_temperature: ["gen_ai.request.temperature"],
  ls_max_tokens: ["gen_ai.request.max_tokens"],
  ls_stop: ["gen_ai.request.stop_sequences"],
  session_id: ["session.id", "gen_ai.conversation.id"],
  user_id: ["user.id"],
};

/** Creates the metadata of a run: the description of the span, and all remaining attributes with their types. */
export function toMetadata(span: Span, bag: AttributeBag): Members {
  const explicitMembers = {
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
    ...Object.fromEntries(span.resource),
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
    ...Object.fromEntries(bag.listRemaining()),
    ...explicitMembers,
    ...(warnings.length === 0 ? {} : { "otel.warnings": warnings }),
  };
}

/**
 * Collects the parameters of a model call. Parameters whose names begin with `gen_ai.request.` also stay in the
 * metadata, under their original names.
 */
export function toInvocationParams(bag: AttributeBag): Members | undefined {
  const { stop_sequences: stop, ...request } = Object.fromEntries(bag.peekAll("gen_ai.request."));
  const definitions = bag.takeText("gen_ai.tool.definitions");
  const tools = bag.takeList("llm.tools").map(({ tool }) => tool);
  const params = {
    ...bag.takeObject("llm.invocation_parameters"),
    ...request,
    ...(stop === undefined ? {} : { stop }),
    ...(tools.length === 0 ? {} : { tools }),
    ...(definitions === undefined ? {} : { tools: parseList(definitions) ?? definitions }),
  };
  return Object.keys(params).length === 0 ? undefined : params;
}

/** Converts events of a span to events of a run: name, time and attributes. */
export const toEvents = (events: readonly SpanEvent[]): readonly Members[] =>
  events.map(({ name, nanos, attributes }) => ({
    name,
    time: toIso(Number(nanos / 1_000n)),
    kwargs: Object.fromEntries(attributes),
  }));

/** Converts the links of a span, which refer to spans other than its parent. */
export const toLinks = (links: readonly SpanLink[]): readonly Members[] =>
  links.map(({ traceId, spanId, attributes }) => ({
    trace_id: traceId,
    span_id: spanId,
    attributes: Object.fromEntries(attributes),
  }));

const removeEmpty = (members: Readonly<Record<string, string>>): Members =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== ""));

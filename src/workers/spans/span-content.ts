import type { AttributeBag } from "./attribute-bag.ts";
import { JsonText, parseJson, readJson, readMembers } from "./json-text.ts";
import { areMessages, toMessages, toPartsContent } from "./messages.ts";
import type { Message } from "./messages.ts";
import type { AttributeValue, SpanEvent } from "./span.ts";

/** The members of a run's inputs or outputs. */
export type Content = Readonly<Record<string, unknown>>;

/** The names of the attributes and events that contain the inputs of a span, or those that contain its outputs. */
interface PayloadSource {
  /** Attributes that contain all inputs or outputs in one value. The first one that exists is used. */
  readonly wholeAttributes: readonly string[];
  /** The event of older conventions that contains all inputs or outputs, and the name of its attribute. */
  readonly wholeEvent: readonly [string, string];
  readonly messagesAttribute: string;
  readonly indexedMessagePrefixes: readonly string[];
  readonly messageEventNames: readonly string[];
  readonly documentPrefixes: readonly string[];
  /** The member of the run's inputs or outputs for a value that is not an object. */
  readonly member: "input" | "output";
}

const inputSource: PayloadSource = {
  wholeAttributes: [
    "gen_ai.prompt",
    "input.value",
    "traceloop.entity.input",
    "gen_ai.tool.call.arguments",
  ],
  wholeEvent: ["gen_ai.content.prompt", "gen_ai.prompt"],
  messagesAttribute: "gen_ai.input.messages",
  indexedMessagePrefixes: ["gen_ai.prompt", "llm.input_messages"],
  messageEventNames: [
    "gen_ai.system.message",
    "gen_ai.user.message",
    "gen_ai.assistant.message",
    "gen_ai.tool.message",
  ],
  documentPrefixes: ["reranker.input_documents"],
  member: "input",
};

const outputSource: PayloadSource = {
  wholeAttributes: [
    "gen_ai.completion",
    "output.value",
    "traceloop.entity.output",
    "gen_ai.tool.call.result",
    "anthropic.tool_result.content",
  ],
  wholeEvent: ["gen_ai.content.completion", "gen_ai.completion"],
  messagesAttribute: "gen_ai.output.messages",
  indexedMessagePrefixes: ["gen_ai.completion", "llm.output_messages"],
  messageEventNames: ["gen_ai.choice"],
  documentPrefixes: ["retrieval.documents", "reranker.output_documents"],
  member: "output",
};

const instructionsAttribute = "gen_ai.system_instructions";

/** Returns the inputs of a span, and removes them from its attributes; `undefined` if it has none. */
export function takeInputs(bag: AttributeBag, events: readonly SpanEvent[]): Content | undefined {
  const encodedInstructions = takeAttribute(bag, events, instructionsAttribute);
  const instructions = toParts(encodedInstructions);
  if (isUnparsed(instructions, encodedInstructions) && jsonStart.test(encodedInstructions)) {
    bag.warn(instructionsAttribute, "is not JSON", encodedInstructions);
  }
  const systemMessages =
    instructions === undefined ? [] : [{ role: "system", content: toPartsContent(instructions) }];
  const query = bag.takeText("reranker.query", "gen_ai.retrieval.query.text");
  return takeContent({
    bag,
    events,
    source: inputSource,
    systemMessages,
    otherMembers: query === undefined ? {} : { query },
  });
}

/** Returns the outputs of a span, and removes them from its attributes; `undefined` if it has none. */
export function takeOutputs(bag: AttributeBag, events: readonly SpanEvent[]): Content | undefined {
  const documents = takeRetrievedDocuments(bag);
  return takeContent({
    bag,
    events,
    source: outputSource,
    systemMessages: [],
    otherMembers: documents === undefined ? {} : { documents },
  });
}

/**
 * Takes the retrieved documents in the form of the semantic conventions. A value that is not a list of documents stays,
 * with a warning.
 */
function takeRetrievedDocuments(bag: AttributeBag): readonly unknown[] | undefined {
  const name = "gen_ai.retrieval.documents";
  const value = bag.peek(name);
  if (value === undefined) {
    return undefined;
  }
  const documents = typeof value === "string" ? parseJson(value) : value;
  if (!isList(documents) || !documents.every(isPlainObject)) {
    bag.warn(name, "is not a list of documents", value);
    return undefined;
  }
  bag.take(name);
  return documents.map((document) => toDocument({ document }));
}

/**
 * Returns the embeddings of OpenInference, and removes them from the attributes: the texts are inputs, the vectors are
 * outputs.
 */
export function takeEmbeddings(bag: AttributeBag): { inputs: Content; outputs: Content } {
  const embeddings = bag
    .takeList("embedding.embeddings")
    .map(({ embedding }) => toObject(embedding));
  const readMembersOfAll = (name: string): unknown[] =>
    embeddings.map((item) => item[name]).filter((value) => value !== undefined);
  const texts = readMembersOfAll("text");
  const vectors = readMembersOfAll("vector");
  return {
    inputs: texts.length === 0 ? {} : { texts },
    outputs: vectors.length === 0 ? {} : { embeddings: vectors },
  };
}

/** Attributes with the reasons why a model stopped: one for each message, or one for all. */
const finishReasonAttributes = [
  "gen_ai.response.finish_reasons",
  "gen_ai.response.finish_reason",
  "ai.response.finishReason",
  "ai.finishReason",
  "anthropic.message.stop_reason",
  "llm.response.finish_reason",
  "llm.finish_reason",
  "llm.response.stop_reason",
];

/** Adds the finish reasons to those messages of outputs that have none. The attributes stay in the metadata. */
export function addFinishReasons(bag: AttributeBag, outputs: Content): Content {
  const { messages } = outputs;
  const value = bag.peek(...finishReasonAttributes);
  if (!isList(messages) || value === undefined) {
    return outputs;
  }
  const reasons = isList(value) ? value : [value];
  return {
    ...outputs,
    messages: messages.map((message, index) =>
      isPlainObject(message) && message["role"] === "assistant" && reasons[index] !== undefined
        ? { ...message, finish_reason: message["finish_reason"] ?? reasons[index] }
        : message,
    ),
  };
}

interface ContentOptions {
  readonly bag: AttributeBag;
  readonly events: readonly SpanEvent[];
  readonly source: PayloadSource;
  readonly systemMessages: readonly Message[];
  readonly otherMembers: Content;
}

function takeContent({
  bag,
  events,
  source,
  systemMessages,
  otherMembers,
}: ContentOptions): Content | undefined {
  const [eventName, eventAttribute] = source.wholeEvent;
  const wholeValue =
    bag.take(...source.wholeAttributes) ??
    events.find(({ name }) => name === eventName)?.attributes.get(eventAttribute);
  const mimeType = bag.takeText(`${source.member}.mime_type`);
  const messages = [...systemMessages, ...takeMessages(bag, events, source)];
  const documents = source.documentPrefixes
    .flatMap((prefix) => bag.takeList(prefix))
    .map(toDocument);
  const content = {
    ...(wholeValue === undefined
      ? {}
      : toContent(bag, wholeValue, { mimeType, member: source.member })),
    ...(messages.length === 0 ? {} : { messages }),
    ...(documents.length === 0 ? {} : { documents }),
    ...otherMembers,
  };
  return Object.keys(content).length === 0 ? undefined : content;
}

function toContent(
  bag: AttributeBag,
  wholeValue: AttributeValue,
  { mimeType, member }: { mimeType: string | undefined; member: string },
): Content {
  if (typeof wholeValue !== "string") {
    return isPlainObject(wholeValue) ? wholeValue : { [member]: wholeValue };
  }
  const isText = mimeType !== undefined && !mimeType.includes("json");
  const members = isText ? undefined : readMembers(wholeValue);
  if (members !== undefined) {
    return Object.fromEntries(members);
  }
  // Without a JSON media type, parse only a text that looks like a list: a number or a keyword may be plain text.
  const mayBeJson = !isText && (mimeType !== undefined || /^\s*\[/.test(wholeValue));
  const json = mayBeJson ? readJson(wholeValue) : undefined;
  if (json === undefined) {
    if (!isText && mimeType !== undefined) {
      bag.warn(`${member}.value`, `is not ${mimeType}`, wholeValue);
    }
    return { [member]: wholeValue };
  }
  const list = parseJson(json.text);
  return isList(list) && areMessages(list) ? { messages: toMessages(list) } : { [member]: json };
}

function takeMessages(
  bag: AttributeBag,
  events: readonly SpanEvent[],
  source: PayloadSource,
): readonly Message[] {
  const encodedMessages = takeAttribute(bag, events, source.messagesAttribute);
  const messageParts = toParts(encodedMessages);
  if (messageParts !== undefined) {
    if (isUnparsed(messageParts, encodedMessages) || !messageParts.every(isPlainObject)) {
      bag.warn(source.messagesAttribute, "is not a JSON list of messages", encodedMessages);
    }
    return toMessages(messageParts);
  }
  for (const prefix of source.indexedMessagePrefixes) {
    const list = bag.takeList(prefix);
    if (list.length > 0) {
      return toMessages(list.map(parsePartList));
    }
  }
  return toMessages(
    events.filter(({ name }) => source.messageEventNames.includes(name)).map(toEventMessage),
  );
}

/** Types of parts that a list of contents may have in the APIs of models or in the semantic conventions. */
const partTypes: ReadonlySet<unknown> = new Set([
  "audio",
  "blob",
  "document",
  "file",
  "image",
  "image_url",
  "input_audio",
  "input_file",
  "input_image",
  "input_text",
  "output_text",
  "reasoning",
  "redacted_thinking",
  "refusal",
  "text",
  "thinking",
  "tool_result",
  "tool_use",
  "uri",
  "video",
]);

/**
 * Converts the content of a message that is the JSON text of a list of parts, as earlier versions of OpenLLMetry write
 * it. Any other text is kept as the message's content, even if it looks like a list.
 */
function parsePartList(message: Content): Content {
  const { content } = message;
  const parts =
    typeof content === "string" && /^\s*\[\s*\{/.test(content) ? parseJson(content) : undefined;
  return isList(parts) && parts.every((part) => isPlainObject(part) && partTypes.has(part["type"]))
    ? { ...message, content: toPartsContent(parts) }
    : message;
}

/** Removes and returns an attribute of the span, or reads it from the event that describes the whole operation. */
function takeAttribute(
  bag: AttributeBag,
  events: readonly SpanEvent[],
  name: string,
): AttributeValue | undefined {
  return (
    bag.take(name) ??
    events
      .find((event) => event.name === "gen_ai.client.inference.operation.details")
      ?.attributes.get(name)
  );
}

/** Returns the value as a list. A list may be given as JSON text; any other value becomes the only item of a list. */
function toParts(value: AttributeValue | undefined): readonly unknown[] | undefined {
  if (value === undefined || value === null || value === "") {
    return undefined;
  }
  const parsed = typeof value === "string" && jsonStart.test(value) ? parseJson(value) : undefined;
  const list = parsed ?? (typeof value === "string" ? { type: "text", content: value } : value);
  return isList(list) ? list : [list];
}

/** Whether {@link toParts} returned a text unchanged, because it is not a list or an object in JSON. */
const isUnparsed = (
  parts: readonly unknown[] | undefined,
  encoded: AttributeValue | undefined,
): encoded is string => {
  const [part] = parts ?? [];
  return typeof encoded === "string" && isPlainObject(part) && part["content"] === encoded;
};

const jsonStart = /^\s*[[{]/;

/** Converts an event to a message. If no attribute contains the role, the role is derived from the event's name. */
function toEventMessage({ name, attributes }: SpanEvent): unknown {
  const {
    "gen_ai.event.content": eventContent,
    "gen_ai.system": _,
    ...otherMembers
  } = Object.fromEntries(attributes);
  const fields = {
    ...(isPlainObject(eventContent) ? eventContent : parseObject(eventContent)),
    ...otherMembers,
  };
  const role = name === "gen_ai.choice" ? "assistant" : name.split(".")[1];
  const message = isPlainObject(fields["message"])
    ? fields["message"]
    : parseObject(fields["message"]);
  const { message: wholeValue, ...otherFields } = fields;
  const isMessageMerged = wholeValue === undefined || Object.keys(message).length > 0;
  return { role, ...(isMessageMerged ? {} : { content: wholeValue }), ...otherFields, ...message };
}

/** Converts a document of OpenInference to the form that retrievers return. */
function toDocument({ document }: Content): unknown {
  const { content, metadata, ...otherMembers } = toObject(document);
  const parsedMetadata = typeof metadata === "string" ? readJson(metadata) : undefined;
  return {
    type: "Document",
    page_content: content ?? "",
    metadata: parsedMetadata ?? metadata ?? {},
    ...otherMembers,
  };
}

const toObject = (value: unknown): Content => (isPlainObject(value) ? value : {});

const parseObject = (value: unknown): Content =>
  toObject(typeof value === "string" && value.startsWith("{") ? parseJson(value) : undefined);

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);

const isPlainObject = (value: unknown): value is Content =>
  typeof value === "object" &&
  value !== null &&
  !Array.isArray(value) &&
  !(value instanceof JsonText);

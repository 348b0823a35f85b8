import type { ChatMessage, MessagePart } from "./chat-messages.ts";
import { toImageUrl } from "./image-part.ts";
import type { ImagePart } from "./image-part.ts";
import { toItems, toMembers, toText } from "./json-value.ts";
import type { ModelCall } from "./model-call.ts";
import { toDouble } from "./protobuf-writer.ts";
import type { SpanAttributes, SpanValue } from "./protobuf-writer.ts";
import type { SpanRun } from "./span-run.ts";

/** Kinds of spans by run type. Other run types become `CHAIN`. */
const kinds: Readonly<Record<string, string>> = {
  llm: "LLM",
  tool: "TOOL",
  retriever: "RETRIEVER",
  embedding: "EMBEDDING",
  prompt: "PROMPT",
};

/** Adds the attributes of OpenInference's conventions. */
export function addOpenInferenceAttributes(
  attributes: SpanAttributes,
  run: SpanRun,
  call: ModelCall | undefined,
): void {
  const kind = Object.hasOwn(kinds, run.runType) ? kinds[run.runType] : undefined;
  attributes.set("openinference.span.kind", kind ?? "CHAIN");
  add(attributes, "session.id", run.threadId);
  add(attributes, "user.id", run.userId);
  if (run.tags.length > 0) {
    attributes.set("tag.tags", run.tags);
  }
  if (Object.keys(run.metadata).length > 0) {
    attributes.set("metadata", JSON.stringify(run.metadata));
  }
  switch (run.runType) {
    case "tool":
      attributes.set("tool.name", run.name);
      add(attributes, "tool.parameters", run.readJson("inputs"));
      break;
    case "retriever":
      addDocuments(attributes, run.parse("outputs"));
      break;
    case "embedding":
      add(attributes, "embedding.model_name", call?.requestModel);
      addTexts(attributes, run.parse("inputs"));
      break;
    default:
  }
  if (call !== undefined) {
    addModelCall(attributes, call);
  }
}

function addModelCall(attributes: SpanAttributes, call: ModelCall): void {
  const { usage, cost, instructions } = call;
  add(attributes, "llm.model_name", call.responseModel ?? call.requestModel);
  add(attributes, "llm.provider", call.provider);
  if (Object.keys(call.params).length > 0) {
    attributes.set("llm.invocation_parameters", JSON.stringify(call.params));
  }
  add(attributes, "llm.token_count.prompt", usage.input);
  add(attributes, "llm.token_count.completion", usage.output);
  add(attributes, "llm.token_count.total", usage.total ?? addUp(usage.input, usage.output));
  add(attributes, "llm.token_count.prompt_details.cache_read", usage.cacheRead);
  add(attributes, "llm.token_count.prompt_details.cache_write", usage.cacheWrite);
  add(attributes, "llm.token_count.completion_details.reasoning", usage.reasoning);
  add(attributes, "llm.cost.prompt", toDouble(cost.input));
  add(attributes, "llm.cost.completion", toDouble(cost.output));
  add(attributes, "llm.cost.total", toDouble(cost.total));
  add(attributes, "llm.finish_reason", call.finishReasons[0]);
  const system: readonly ChatMessage[] =
    instructions.length === 0 ? [] : [{ role: "system", parts: instructions }];
  addMessages(attributes, "llm.input_messages", [...system, ...call.inputMessages]);
  addMessages(attributes, "llm.output_messages", call.outputMessages);
  for (const [index, tool] of call.tools.entries()) {
    attributes.set(`llm.tools.${index}.tool.json_schema`, toText(tool));
  }
}

const addUp = (input: number | undefined, output: number | undefined): number | undefined =>
  input === undefined || output === undefined ? undefined : input + output;

function add(attributes: SpanAttributes, name: string, value: SpanValue | undefined): void {
  if (value !== undefined) {
    attributes.set(name, value);
  }
}

function addMessages(
  attributes: SpanAttributes,
  prefix: string,
  messages: readonly ChatMessage[],
): void {
  for (const [index, { role, parts, name }] of messages.entries()) {
    const path = `${prefix}.${index}.message`;
    attributes.set(`${path}.role`, role);
    add(attributes, `${path}.name`, name);
    const [part] = parts;
    if (parts.length === 1 && part?.type === "tool_call_response") {
      add(attributes, `${path}.tool_call_id`, part.id);
    }
    const contents = parts.filter(({ type }) => type !== "tool_call");
    const [content] = contents;
    if (contents.length === 1 && content !== undefined && !isImage(content)) {
      attributes.set(`${path}.content`, toContentText(content));
    } else {
      addContents(attributes, path, contents);
    }
    addToolCalls(attributes, path, parts);
  }
}

const isImage = (part: MessagePart): part is ImagePart =>
  part.type === "blob" || part.type === "uri";

/** Adds the parts of a message that has several parts, or an image, which can't be written as a text. */
function addContents(
  attributes: SpanAttributes,
  path: string,
  contents: readonly MessagePart[],
): void {
  for (const [index, content] of contents.entries()) {
    const contentPath = `${path}.contents.${index}.message_content`;
    if (isImage(content)) {
      attributes.set(`${contentPath}.type`, "image");
      attributes.set(`${contentPath}.image.image.url`, toImageUrl(content));
      continue;
    }
    const { type } = content.type === "other" ? content.value : content;
    attributes.set(`${contentPath}.type`, typeof type === "string" ? type : "text");
    attributes.set(`${contentPath}.text`, toContentText(content));
  }
}

function addToolCalls(
  attributes: SpanAttributes,
  path: string,
  parts: readonly MessagePart[],
): void {
  const calls = parts.filter((part) => part.type === "tool_call");
  for (const [index, call] of calls.entries()) {
    const callPath = `${path}.tool_calls.${index}.tool_call`;
    add(attributes, `${callPath}.id`, call.id);
    attributes.set(`${callPath}.function.name`, call.name);
    attributes.set(`${callPath}.function.arguments`, toText(call.arguments));
  }
}

function toContentText(part: Exclude<MessagePart, ImagePart>): string {
  switch (part.type) {
    case "text":
    case "reasoning":
      return part.content;
    case "tool_call_response":
      return toText(part.response);
    case "tool_call":
      return toText(part.arguments);
    case "other":
      return toText(part.value);
  }
}

/** Adds the texts that were embedded. */
function addTexts(attributes: SpanAttributes, inputs: unknown): void {
  const { input, texts, documents, text } = toMembers(inputs);
  const values = input ?? texts ?? documents ?? text;
  const items = typeof values === "string" ? [values] : toItems(values);
  for (const [index, item] of items.entries()) {
    attributes.set(`embedding.embeddings.${index}.embedding.text`, toText(item));
  }
}

/** Adds the documents that a retriever returned. */
function addDocuments(attributes: SpanAttributes, outputs: unknown): void {
  const { documents, output } = toMembers(outputs);
  for (const [index, item] of toItems(documents ?? output ?? outputs).entries()) {
    const document = toMembers(item);
    const path = `retrieval.documents.${index}.document`;
    attributes.set(
      `${path}.content`,
      toText(document["page_content"] ?? document["pageContent"] ?? document["content"] ?? item),
    );
    const { id, score, metadata } = document;
    add(attributes, `${path}.id`, typeof id === "string" ? id : undefined);
    add(attributes, `${path}.score`, typeof score === "number" ? { double: score } : undefined);
    add(attributes, `${path}.metadata`, metadata === undefined ? undefined : toText(metadata));
  }
}

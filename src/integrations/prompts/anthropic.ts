import { ValidationError } from "../../main/index.ts";
import type { CompiledPrompt, PromptMessage, PromptPart } from "../../templates/compiled-prompt.ts";
import {
  copySchema,
  isSystem,
  joinResults,
  readInlineData,
  readMessages,
  requireCallId,
  requireText,
} from "./conversion.ts";

/** A text for Anthropic's messages. */
export interface AnthropicText {
  type: "text";
  text: string;
}

/** Media types of images that Anthropic accepts. */
export type AnthropicMediaType = "image/jpeg" | "image/png" | "image/gif" | "image/webp";

/** An image for Anthropic's messages. */
export interface AnthropicImage {
  type: "image";
  source:
    | { type: "url"; url: string }
    | { type: "base64"; media_type: AnthropicMediaType; data: string };
}

/** A block of a message for Anthropic. */
export type AnthropicBlock =
  | AnthropicText
  | AnthropicImage
  | { type: "tool_use"; id: string; name: string; input: Record<string, unknown> }
  | {
      type: "tool_result";
      tool_use_id: string;
      content: string | (AnthropicText | AnthropicImage)[];
    };

/** Anthropic has no role for system messages or tool results: results are blocks of a user's message. */
export interface AnthropicMessage {
  role: "user" | "assistant";
  content: string | AnthropicBlock[];
}

/** The arguments of `anthropic.messages.create` that a prompt determines. */
export interface AnthropicPrompt {
  /**
   * All system messages of the prompt, regardless of their position; a string if there is only one, and its content is
   * a string.
   */
  system?: string | AnthropicText[];
  messages: AnthropicMessage[];
  /** Present if the prompt has a schema. */
  output_config?: { format: { type: "json_schema"; schema: Record<string, unknown> } };
}

const mediaTypes: readonly string[] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/**
 * Converts a compiled prompt for Anthropic:
 * `anthropic.messages.create({ model, max_tokens, ...toAnthropic(compiled) })`.
 *
 * @throws `ValidationError` if a message can't be sent to Anthropic.
 */
export function toAnthropic(compiled: CompiledPrompt): AnthropicPrompt {
  const allMessages = readMessages("toAnthropic", compiled);
  const system = toSystem(allMessages.filter(isSystem));
  const messages = joinResults(
    allMessages.filter((message) => !isSystem(message)).map(toMessage),
    readToolResults,
  );
  const { schema } = compiled;
  return {
    ...(system === undefined ? {} : { system }),
    messages,
    ...(schema === undefined
      ? {}
      : { output_config: { format: { type: "json_schema", schema: copySchema(schema) } } }),
  };
}

function toSystem(messages: readonly PromptMessage[]): string | AnthropicText[] | undefined {
  const [first, ...others] = messages;
  if (first === undefined) {
    return undefined;
  }
  if (others.length === 0 && typeof first.content === "string") {
    return first.content;
  }
  return messages.flatMap((message): AnthropicText[] => {
    const text = requireText(message);
    return typeof message.content === "string"
      ? [{ type: "text", text }]
      : (message.content.map(toBlock) as AnthropicText[]);
  });
}

function toMessage(message: PromptMessage): AnthropicMessage {
  const { role, content, toolCalls = [] } = message;
  if (role === "tool") {
    const result =
      typeof content === "string"
        ? content
        : (content.map(toBlock) as (AnthropicText | AnthropicImage)[]);
    const id = requireCallId(message);
    return { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: result }] };
  }
  const anthropicRole = role === "assistant" ? "assistant" : "user";
  if (typeof content === "string" && toolCalls.length === 0) {
    return { role: anthropicRole, content };
  }
  const calls = toolCalls.map(({ id, name, arguments: values }): AnthropicBlock => ({
    type: "tool_use",
    id,
    name,
    input: { ...values },
  }));
  return { role: anthropicRole, content: [...toBlocks(content), ...calls] };
}

/**
 * Converts content to blocks. An empty text, which messages with tool calls often have, is left out, because Anthropic
 * rejects it.
 */
const toBlocks = (content: PromptMessage["content"]): AnthropicBlock[] =>
  typeof content === "string"
    ? [content].filter((text) => text !== "").map((text) => ({ type: "text", text }))
    : content.map(toBlock);

function toBlock(part: PromptPart): AnthropicBlock {
  switch (part.type) {
    case "text":
      return { ...part.extra, type: "text", text: part.text };
    case "image":
      return toImage(part.url);
    case "other":
      // The prompt's author wrote this part in Anthropic's format.
      return { ...part.value } as unknown as AnthropicBlock;
  }
}

function toImage(url: string): AnthropicImage {
  const inline = readInlineData(url);
  if (inline === undefined) {
    return { type: "image", source: { type: "url", url } };
  }
  const { mediaType, data } = inline;
  if (!mediaTypes.includes(mediaType)) {
    throw new ValidationError(
      `Anthropic accepts no images of the type ${JSON.stringify(mediaType.slice(0, 64))}. Use ${mediaTypes.join(", ")}`,
    );
  }
  return {
    type: "image",
    source: { type: "base64", media_type: mediaType as AnthropicMediaType, data },
  };
}

/** Returns the blocks of a message that contains only tool results; `undefined` for any other message. */
const readToolResults = ({ content }: AnthropicMessage): AnthropicBlock[] | undefined =>
  Array.isArray(content) && content.every(({ type }) => type === "tool_result")
    ? content
    : undefined;

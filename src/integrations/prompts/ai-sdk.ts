import { isObject } from "../../templates/compiled-prompt.ts";
import type { CompiledPrompt, PromptMessage, PromptPart } from "../../templates/compiled-prompt.ts";
import {
  isSystem,
  readInlineData,
  readMessages,
  requireCallId,
  requireText,
  requireToolName,
} from "./conversion.ts";

/** Any value that JSON can express. */
export type JsonValue =
  | null
  | string
  | number
  | boolean
  | JsonValue[]
  | { [key: string]: JsonValue };

/** Options of providers, such as `{ anthropic: { cacheControl: { type: "ephemeral" } } }`. */
export type AiSdkProviderOptions = Record<string, { [key: string]: JsonValue }>;

/** A part of a message that is a text, in the format of the AI SDK. */
export interface AiSdkText {
  type: "text";
  text: string;
  providerOptions?: AiSdkProviderOptions;
}

/** A part of a message that is an image, in the format of the AI SDK. */
export interface AiSdkImage {
  type: "image";
  /** A URL, or the image in base64. */
  image: string | URL;
  mediaType?: string;
}

/** A part of a message with which the model calls a tool, in the format of the AI SDK. */
export interface AiSdkToolCall {
  type: "tool-call";
  toolCallId: string;
  toolName: string;
  input: unknown;
}

/** A part of a message that answers a tool call, in the format of the AI SDK. */
export interface AiSdkToolResult {
  type: "tool-result";
  toolCallId: string;
  toolName: string;
  output: { type: "text"; value: string };
}

/** A message of a user, the model or a tool, in the format of the AI SDK. */
export type AiSdkMessage =
  | { role: "user"; content: string | (AiSdkText | AiSdkImage)[] }
  | { role: "assistant"; content: string | (AiSdkText | AiSdkToolCall)[] }
  | { role: "tool"; content: AiSdkToolResult[] };

/** A message with instructions for the model, in the format of the AI SDK. */
export interface AiSdkSystemMessage {
  role: "system";
  content: string;
  providerOptions?: AiSdkProviderOptions;
}

/** The arguments of `generateText` and `streamText` that a prompt determines. */
export interface AiSdkPrompt {
  /**
   * All system messages of the prompt, regardless of their position; a string if there is only one, and its content is
   * a string.
   */
  system?: string | AiSdkSystemMessage[];
  messages: AiSdkMessage[];
}

/**
 * Converts a compiled prompt for the AI SDK: `generateText({ model, ...toAiSdk(compiled) })`. A schema is not
 * converted, because that requires functions of the AI SDK. Pass it as the option
 * `output: Output.object({ schema: jsonSchema(compiled.schema.schema) })`.
 *
 * @throws `ValidationError` if a message can't be represented in the AI SDK.
 */
export function toAiSdk(compiled: CompiledPrompt): AiSdkPrompt {
  const allMessages = readMessages("toAiSdk", compiled);
  const system = toSystem(allMessages.filter(isSystem));
  const messages = allMessages
    .filter((message) => !isSystem(message))
    .map((message) => toMessage(message, allMessages));
  return { ...(system === undefined ? {} : { system }), messages };
}

function toSystem(messages: readonly PromptMessage[]): string | AiSdkSystemMessage[] | undefined {
  const [first, ...others] = messages;
  if (first === undefined) {
    return undefined;
  }
  if (others.length === 0 && typeof first.content === "string") {
    return first.content;
  }
  return messages.map((message): AiSdkSystemMessage => {
    const { content } = message;
    const lastPart = typeof content === "string" ? undefined : content.at(-1);
    return { role: "system", content: requireText(message), ...readProviderOptions(lastPart) };
  });
}

function toMessage(message: PromptMessage, messages: readonly PromptMessage[]): AiSdkMessage {
  const { role, content, toolCalls = [] } = message;
  if (role === "tool") {
    const result: AiSdkToolResult = {
      type: "tool-result",
      toolCallId: requireCallId(message),
      toolName: requireToolName(message, messages),
      output: { type: "text", value: requireText(message) },
    };
    return { role, content: [result] };
  }
  if (role !== "assistant") {
    return {
      role: "user",
      content: typeof content === "string" ? content : content.map(toPart),
    };
  }
  if (typeof content === "string" && toolCalls.length === 0) {
    return { role, content };
  }
  const calls = toolCalls.map(({ id, name, arguments: input }): AiSdkToolCall => ({
    type: "tool-call",
    toolCallId: id,
    toolName: name,
    input,
  }));
  const parts =
    typeof content === "string"
      ? [content].filter((text) => text !== "").map((text): AiSdkText => ({ type: "text", text }))
      : (content.map(toPart) as AiSdkText[]);
  return { role, content: [...parts, ...calls] };
}

function toPart(part: PromptPart): AiSdkText | AiSdkImage {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text, ...readProviderOptions(part) };
    case "image": {
      const inline = readInlineData(part.url);
      return inline === undefined
        ? { type: "image", image: toAddress(part.url) }
        : { type: "image", image: inline.data, mediaType: inline.mediaType };
    }
    case "other":
      // The prompt's author wrote this part in the format of the AI SDK.
      return { ...part.value } as unknown as AiSdkText;
  }
}

/** Converts the address of an image. The AI SDK treats a string as base64, so a URL is passed as a `URL` object. */
const toAddress = (url: string): string | URL => (URL.canParse(url) ? new URL(url) : url);

/** Converts `cache_control`, the only additional member of a text part that has a counterpart in the AI SDK. */
function readProviderOptions(part: PromptPart | undefined): {
  readonly providerOptions?: AiSdkProviderOptions;
} {
  const cacheControl = part?.type === "text" ? part.extra?.["cache_control"] : undefined;
  return isObject(cacheControl)
    ? {
        providerOptions: {
          anthropic: { cacheControl: { ...cacheControl } as { [key: string]: JsonValue } },
        },
      }
    : {};
}

import { omitUndefined } from "../../templates/compiled-prompt.ts";
import type { CompiledPrompt, PromptMessage, PromptPart } from "../../templates/compiled-prompt.ts";
import { copySchema, readMessages, requireCallId, requireText } from "./conversion.ts";

/** A text for OpenAI's chat completions. */
export interface OpenAIText {
  type: "text";
  text: string;
}

/** A part of a message for OpenAI's chat completions. */
export type OpenAIPart =
  | OpenAIText
  | { type: "image_url"; image_url: { url: string; detail?: "auto" | "low" | "high" } };

/** A tool call in a message for OpenAI's chat completions. */
export interface OpenAIToolCall {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
}

/** A message for OpenAI's chat completions. */
export type OpenAIMessage =
  | { role: "system" | "developer"; content: string | OpenAIText[]; name?: string }
  | { role: "user"; content: string | OpenAIPart[]; name?: string }
  | {
      role: "assistant";
      content: string | OpenAIText[] | null;
      name?: string;
      tool_calls?: OpenAIToolCall[];
    }
  | { role: "tool"; content: string | OpenAIText[]; tool_call_id: string };

/** The arguments of `openai.chat.completions.create` that a prompt determines. */
export interface OpenAIPrompt {
  messages: OpenAIMessage[];
  /** Present if the prompt has a schema. */
  response_format?: {
    type: "json_schema";
    json_schema: {
      name: string;
      schema: Record<string, unknown>;
      description?: string;
      strict?: boolean;
    };
  };
}

/**
 * Converts a compiled prompt for OpenAI's chat completions:
 * `openai.chat.completions.create({ model, ...toOpenAI(compiled) })`.
 *
 * @throws `ValidationError` if a message can't be sent to OpenAI.
 */
export function toOpenAI(compiled: CompiledPrompt): OpenAIPrompt {
  const messages = readMessages("toOpenAI", compiled).map(toMessage);
  const { schema } = compiled;
  if (schema === undefined) {
    return { messages };
  }
  const { name, description, strict } = schema;
  return {
    messages,
    response_format: {
      type: "json_schema",
      json_schema: { name, schema: copySchema(schema), ...omitUndefined({ description, strict }) },
    },
  };
}

function toMessage(message: PromptMessage): OpenAIMessage {
  const { role, content, name, toolCalls } = message;
  const named = omitUndefined({ name });
  switch (role) {
    case "system":
    case "developer":
      return { role, content: toTexts(message), ...named };
    case "user":
      return {
        role,
        content: typeof content === "string" ? content : content.map(toPart),
        ...named,
      };
    case "assistant": {
      const texts = toTexts(message);
      if (toolCalls === undefined) {
        return { role, content: texts, ...named };
      }
      const calls = toolCalls.map(({ id, name: called, arguments: values }): OpenAIToolCall => ({
        id,
        type: "function",
        function: { name: called, arguments: JSON.stringify(values) },
      }));
      return { role, content: texts.length === 0 ? null : texts, tool_calls: calls, ...named };
    }
    case "tool":
      return { role, content: toTexts(message), tool_call_id: requireCallId(message) };
  }
}

/**
 * Converts the content of a message that may contain only text. Parts are not joined, because they may have additional
 * members.
 */
function toTexts(message: PromptMessage): string | OpenAIText[] {
  const text = requireText(message);
  return typeof message.content === "string" ? text : (message.content.map(toPart) as OpenAIText[]);
}

function toPart(part: PromptPart): OpenAIPart {
  switch (part.type) {
    case "text":
      return { ...part.extra, type: "text", text: part.text };
    case "image": {
      const { url, detail } = part;
      const image = { url, ...omitUndefined({ detail }) };
      return { type: "image_url", image_url: image } as OpenAIPart;
    }
    case "other":
      // The prompt's author wrote this part in OpenAI's format.
      return { ...part.value } as unknown as OpenAIPart;
  }
}

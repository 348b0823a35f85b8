import type { CompiledPrompt, PromptMessage, PromptPart } from "../../templates/compiled-prompt.ts";
import {
  copySchema,
  isSystem,
  joinResults,
  readInlineData,
  readMessages,
  requireText,
  requireToolName,
} from "./conversion.ts";

/** A part of a message for Gemini. */
export type GeminiPart =
  | { text: string }
  | { inlineData: { mimeType: string; data: string } }
  | { fileData: { fileUri: string; mimeType?: string } }
  | { functionCall: { id?: string; name: string; args: Record<string, unknown> } }
  | { functionResponse: { id?: string; name: string; response: Record<string, unknown> } };

/** A message for Gemini. */
export interface GeminiContent {
  role: "user" | "model";
  parts: GeminiPart[];
}

/** The arguments of `ai.models.generateContent` that a prompt determines. */
export interface GeminiPrompt {
  contents: GeminiContent[];
  config: {
    /** All system messages of the prompt, regardless of their position. */
    systemInstruction?: { parts: { text: string }[] };
    /** Present if the prompt has a schema. */
    responseMimeType?: "application/json";
    responseJsonSchema?: Record<string, unknown>;
  };
}

/** Media types by file extension. Gemini expects the media type of a file at a URL. */
const mediaTypes: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  webp: "image/webp",
  gif: "image/gif",
  heic: "image/heic",
  heif: "image/heif",
};

/**
 * Converts a compiled prompt for `@google/genai`: `ai.models.generateContent({ model, ...toGemini(compiled) })`. To set
 * further options, pass a `config` with the members of the result's `config` and the options.
 *
 * @throws `ValidationError` if a message can't be sent to Gemini.
 */
export function toGemini(compiled: CompiledPrompt): GeminiPrompt {
  const allMessages = readMessages("toGemini", compiled);
  const system = allMessages.filter(isSystem).map((message) => ({ text: requireText(message) }));
  const turns = allMessages
    .filter((message) => !isSystem(message))
    .map((message) => toContent(message, allMessages));
  const contents = joinResults(turns, readFunctionResponses);
  const { schema } = compiled;
  return {
    contents,
    config: {
      ...(system.length === 0 ? {} : { systemInstruction: { parts: system } }),
      ...(schema === undefined
        ? {}
        : { responseMimeType: "application/json", responseJsonSchema: copySchema(schema) }),
    },
  };
}

function toContent(message: PromptMessage, messages: readonly PromptMessage[]): GeminiContent {
  const { role, content, toolCalls = [], toolCallId } = message;
  if (role === "tool") {
    const name = requireToolName(message, messages);
    const id = toGeminiId(toolCallId);
    const response = toResponse(requireText(message));
    return { role: "user", parts: [{ functionResponse: { ...id, name, response } }] };
  }
  const calls = toolCalls.map(({ id, name, arguments: values }): GeminiPart => ({
    functionCall: { ...toGeminiId(id), name, args: { ...values } },
  }));
  const isOnlyCalls = content === "" && calls.length > 0;
  const parts =
    typeof content === "string"
      ? [content].filter(() => !isOnlyCalls).map((text) => ({ text }))
      : content.map(toPart);
  return { role: role === "assistant" ? "model" : "user", parts: [...parts, ...calls] };
}

/** Returns the parts of a message that contains only tool results; `undefined` for any other message. */
const readFunctionResponses = ({ parts }: GeminiContent): GeminiPart[] | undefined =>
  parts.every((part) => "functionResponse" in part) ? parts : undefined;

/** Converts the id of a call to a member of Gemini's format. Some of Gemini's APIs have no ids for calls. */
const toGeminiId = (id: string | undefined): { readonly id?: string } =>
  id === undefined || id === "" ? {} : { id };

/** Converts the result of a tool to an object, as Gemini requires. */
function toResponse(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      return value as Record<string, unknown>;
    }
  } catch {
    // The result is a text that is not JSON.
  }
  return { output: text };
}

function toPart(part: PromptPart): GeminiPart {
  switch (part.type) {
    case "text":
      return { text: part.text };
    case "image": {
      const inline = readInlineData(part.url);
      if (inline !== undefined) {
        return { inlineData: { mimeType: inline.mediaType, data: inline.data } };
      }
      const extension = /\.(\w+)(?:[?#].*)?$/.exec(part.url)?.[1]?.toLowerCase() ?? "";
      const mimeType = Object.hasOwn(mediaTypes, extension) ? mediaTypes[extension] : undefined;
      return {
        fileData: { fileUri: part.url, ...(mimeType === undefined ? {} : { mimeType }) },
      };
    }
    case "other":
      // The prompt's author wrote this part in Gemini's format.
      return { ...part.value } as unknown as GeminiPart;
  }
}

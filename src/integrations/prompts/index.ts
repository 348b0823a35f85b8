export { compile, listVariables } from "./compile.ts";
export type { CompileOptions, PromptSourceValue } from "./compile.ts";
export { promptRoles } from "../../templates/compiled-prompt.ts";
export type {
  CompiledPrompt,
  PromptIdentity,
  PromptMessage,
  PromptPart,
  PromptRole,
  PromptSchema,
  PromptToolCall,
} from "../../templates/compiled-prompt.ts";
export { chatPrompt, toLangChain } from "./langchain.ts";
export type { ChatPromptMessage, ChatPromptOptions, TemplateRole } from "./langchain.ts";
export { toPromptMetadata } from "./prompt-metadata.ts";
export { templateFormats } from "../../templates/template.ts";
export type { TemplateFormat } from "../../templates/template.ts";
export { toOpenAI } from "./openai.ts";
export type {
  OpenAIMessage,
  OpenAIPart,
  OpenAIPrompt,
  OpenAIText,
  OpenAIToolCall,
} from "./openai.ts";
export { toAnthropic } from "./anthropic.ts";
export type {
  AnthropicBlock,
  AnthropicImage,
  AnthropicMediaType,
  AnthropicMessage,
  AnthropicPrompt,
  AnthropicText,
} from "./anthropic.ts";
export { toGemini } from "./gemini.ts";
export type { GeminiContent, GeminiPart, GeminiPrompt } from "./gemini.ts";
export { toAiSdk } from "./ai-sdk.ts";
export type {
  AiSdkImage,
  AiSdkMessage,
  AiSdkPrompt,
  AiSdkProviderOptions,
  AiSdkSystemMessage,
  AiSdkText,
  AiSdkToolCall,
  AiSdkToolResult,
  JsonValue,
} from "./ai-sdk.ts";

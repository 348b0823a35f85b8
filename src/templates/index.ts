// The exports that the local server and the UI use: the server fills in prompts for the experiments that it runs.
export { compileTemplate, readNames } from "./compile-template.ts";
export type {
  CompiledPrompt,
  PromptMessage,
  PromptPart,
  PromptRole,
  PromptSchema,
  PromptToolCall,
} from "./compiled-prompt.ts";
export { readText } from "./compiled-prompt.ts";
export { parseManifest } from "./manifest.ts";
export type { PromptTemplate } from "./manifest.ts";
export { parseTemplate, renderTemplate } from "./template.ts";
export type { Scope, Template } from "./template.ts";
export type { TemplateMark } from "./mustache.ts";

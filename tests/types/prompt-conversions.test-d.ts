import type Anthropic from "@anthropic-ai/sdk";
import type { GoogleGenAI } from "@google/genai";
import type { generateText, LanguageModel } from "ai";
import type OpenAI from "openai";
import { expectTypeOf, test } from "vitest";
import type { Client, RuntimePrompt } from "../../src/main/index.ts";
import {
  compile,
  toAiSdk,
  toAnthropic,
  toGemini,
  toOpenAI,
} from "../../src/integrations/prompts/index.ts";
import type { CompiledPrompt } from "../../src/integrations/prompts/index.ts";

declare const compiled: CompiledPrompt;

test("each conversion has the types of its provider's client", () => {
  type OpenAIRequest = OpenAI.ChatCompletionCreateParamsNonStreaming;
  expectTypeOf({ model: "m", ...toOpenAI(compiled) }).toExtend<OpenAIRequest>();
  type AnthropicRequest = Anthropic.MessageCreateParamsNonStreaming;
  expectTypeOf({
    model: "m",
    max_tokens: 1,
    ...toAnthropic(compiled),
  }).toExtend<AnthropicRequest>();
  type GeminiRequest = Parameters<GoogleGenAI["models"]["generateContent"]>[0];
  expectTypeOf({ model: "m", ...toGemini(compiled) }).toExtend<GeminiRequest>();
  const model = "m" as LanguageModel;
  expectTypeOf({ model, ...toAiSdk(compiled) }).toExtend<Parameters<typeof generateText>[0]>();
});

test("what prompts.get returns can be compiled", () => {
  expectTypeOf<Client["prompts"]["get"]>().returns.resolves.toEqualTypeOf<RuntimePrompt>();
  expectTypeOf<Client["sync"]["prompts"]["get"]>().returns.toEqualTypeOf<RuntimePrompt>();
  expectTypeOf(compile).toBeCallableWith({} as RuntimePrompt, { a: 1 });
  expectTypeOf<RuntimePrompt["commitHash"]>().toEqualTypeOf<string | undefined>();
  // @ts-expect-error -- a blocking call takes a time limit instead of a signal
  void ((client: Client) => client.sync.prompts.get("r", { signal: AbortSignal.timeout(1) }));
});

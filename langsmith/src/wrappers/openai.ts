import { wrapOpenAI as wrapWithMillrace } from "millrace/openai";
import type { OpenAiClient } from "millrace/openai";
import type OpenAI from "openai";
import type { APIPromise } from "openai";
import type { Any, AnyFunction } from "../any.ts";
import type { RunTreeConfig } from "../tracing/run-tree.ts";
import { recordCalls } from "./wrap-options.ts";
import type { ExtraRunTreeConfig } from "./wrap-options.ts";

interface OpenAIType {
  beta?: Any;
  chat: {
    completions: { create: AnyFunction; parse?: AnyFunction; stream?: AnyFunction };
  };
  completions: { create: AnyFunction };
  responses?: {
    create: AnyFunction;
    retrieve: AnyFunction;
    parse: AnyFunction;
    stream: AnyFunction;
  };
}

type Options = OpenAI.RequestOptions & { langsmithExtra?: ExtraRunTreeConfig };

type PatchedOpenAIClient<T extends OpenAIType> = T & {
  chat: T["chat"] & {
    completions: T["chat"]["completions"] & {
      create: {
        (
          arg: OpenAI.ChatCompletionCreateParamsStreaming,
          arg2?: Options,
        ): APIPromise<AsyncGenerator<OpenAI.ChatCompletionChunk>>;
        (
          arg: OpenAI.ChatCompletionCreateParamsNonStreaming,
          arg2?: Options,
        ): APIPromise<OpenAI.ChatCompletion>;
      };
    };
  };
  completions: T["completions"] & {
    create: {
      (
        arg: OpenAI.CompletionCreateParamsStreaming,
        arg2?: Options,
      ): APIPromise<AsyncGenerator<OpenAI.Completion>>;
      (
        arg: OpenAI.CompletionCreateParamsNonStreaming,
        arg2?: Options,
      ): APIPromise<OpenAI.Completion>;
    };
  };
};

/**
 * Records the calls of an OpenAI client. Like `wrapOpenAI` of `millrace/openai`, it changes and returns the client
 * itself. The client's methods also accept `langsmithExtra` in their second argument.
 */
export function wrapOpenAI<T extends OpenAIType>(
  openai: T,
  options?: Partial<RunTreeConfig>,
): PatchedOpenAIClient<T> {
  recordCalls({
    wrapperName: "wrapOpenAI",
    client: openai,
    options,
    wrap: (wrapOptions) => void wrapWithMillrace(openai as unknown as OpenAiClient, wrapOptions),
    resources: [
      ["chat", "completions"],
      ["beta", "chat", "completions"],
      ["completions"],
      ["responses"],
      ["embeddings"],
    ],
    methodNames: ["create", "parse", "stream"],
  });
  return openai;
}

import type Anthropic from "@anthropic-ai/sdk";
import type { MessageStream } from "@anthropic-ai/sdk/lib/MessageStream";
import type { Stream } from "@anthropic-ai/sdk/streaming";
import { wrapAnthropic as wrapWithMillrace } from "millrace/anthropic";
import type { AnthropicClient } from "millrace/anthropic";
import type { Any, AnyFunction } from "../any.ts";
import type { RunTreeConfig } from "../tracing/run-tree.ts";
import { recordCalls } from "./wrap-options.ts";
import type { ExtraRunTreeConfig } from "./wrap-options.ts";

interface AnthropicType {
  messages: { create: AnyFunction; parse?: AnyFunction; stream: AnyFunction };
  beta?: Any;
}

type Options = Anthropic.RequestOptions & { langsmithExtra?: ExtraRunTreeConfig };

type PatchedAnthropicClient<T extends AnthropicType> = T & {
  messages: T["messages"] & {
    create: {
      (
        arg: Anthropic.MessageCreateParamsStreaming,
        arg2?: Options,
      ): Promise<Stream<Anthropic.MessageStreamEvent>>;
      (arg: Anthropic.MessageCreateParamsNonStreaming, arg2?: Options): Promise<Anthropic.Message>;
    };
    stream: (arg: Anthropic.MessageStreamParams, arg2?: Options) => MessageStream;
  };
};

/**
 * Records the calls of an Anthropic client. Like `wrapAnthropic` of `millrace/anthropic`, it changes and returns the
 * client itself. The client's methods also accept `langsmithExtra` in their second argument.
 */
export function wrapAnthropic<T extends AnthropicType>(
  anthropic: T,
  options?: Partial<RunTreeConfig>,
): PatchedAnthropicClient<T> {
  recordCalls({
    wrapperName: "wrapAnthropic",
    client: anthropic,
    options,
    wrap: (wrapOptions) =>
      void wrapWithMillrace(anthropic as unknown as AnthropicClient, wrapOptions),
    resources: [["messages"], ["beta", "messages"]],
    methodNames: ["create", "parse", "stream"],
  });
  return anthropic;
}

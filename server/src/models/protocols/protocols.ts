import { anthropic } from "./anthropic.ts";
import { openAiChat } from "./openai-chat.ts";
import { openAiResponses } from "./openai-responses.ts";
import type { ProtocolName } from "../../model/model-endpoint.ts";
import type { Protocol } from "./protocol.ts";

/** How the API of each model provider is called, by the name of the protocol. */
export const protocols: Readonly<Record<ProtocolName, Protocol>> = {
  openai: openAiChat,
  "openai-responses": openAiResponses,
  anthropic,
};

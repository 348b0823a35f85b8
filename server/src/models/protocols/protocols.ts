import { anthropic } from "./anthropic.ts";
import { openAiChat } from "./openai-chat.ts";
import { openAiResponses } from "./openai-responses.ts";
import type { ProtocolName } from "../../model/model-endpoint.ts";
import type { Protocol } from "./protocol.ts";

export const protocols: Readonly<Record<ProtocolName, Protocol>> = {
  openai: openAiChat,
  "openai-responses": openAiResponses,
  anthropic,
};

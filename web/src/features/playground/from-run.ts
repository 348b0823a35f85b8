import { omitUndefined, toItems, toNumber, toRecord, toText } from "../../api/parse.ts";
import type { JsonMembers } from "../../api/parse.ts";
import { toChatMessages } from "../../components/payload/chat-messages.ts";
import type { ChatMessage, ChatPart } from "../../components/payload/chat-messages.ts";
import { pluralize } from "../../components/text/quantity.ts";
import { createMessage, createState } from "./playground-state.ts";
import type { MessageRole, PlaygroundMessage, PlaygroundState } from "./playground-state.ts";

/**
 * Converts the model call that a run recorded to a state of the playground, whichever client made the call. Parts that
 * can't be sent again, such as reasoning, are left out, and a note gives their number.
 */
export function toPlaygroundState(run: JsonMembers): PlaygroundState {
  const inputs = toRecord(run["inputs"]);
  const extra = toRecord(run["extra"]);
  const params = toRecord(extra["invocation_params"]);
  const metadata = toRecord(extra["metadata"]);
  const findParameter = (...names: readonly string[]): unknown =>
    [inputs, toRecord(inputs["generationConfig"] ?? inputs["config"]), params]
      .flatMap((source) => names.map((name) => source[name]))
      .find((value) => value !== undefined && value !== null);
  const omitted = { count: 0 };
  const messages = (toChatMessages(run["inputs"]) ?? []).flatMap((message) =>
    toMessages(message, omitted),
  );
  const tools = findParameter("tools", "functions");
  const notes = [
    ...(messages.length === 0
      ? ["The inputs of the run contain no messages of a known format."]
      : []),
    ...(omitted.count === 0
      ? []
      : [`${pluralize(omitted.count, "part")} of the messages can't be sent again.`]),
  ];
  return createState({
    format: "none",
    messages: messages.length === 0 ? [createMessage("user", "")] : messages,
    toolsText: toItems(tools).length === 0 ? "" : JSON.stringify(tools, undefined, 2),
    schemaText: toSchemaText(findParameter("response_format", "text", "output_config")),
    settings: {
      temperature: toNumberText(findParameter("temperature") ?? metadata["ls_temperature"]),
      maxTokens: toNumberText(
        findParameter("max_completion_tokens", "max_output_tokens", "max_tokens", "maxTokens") ??
          metadata["ls_max_tokens"],
      ),
      topP: toNumberText(findParameter("top_p", "topP")),
      seed: toNumberText(findParameter("seed")),
      stop: [findParameter("stop", "stop_sequences") ?? metadata["ls_stop"] ?? []]
        .flat()
        .flatMap((stop) => toText(stop) ?? [])
        .join("\n"),
    },
    targets: [
      {
        id: crypto.randomUUID(),
        endpoint: toText(metadata["model_endpoint"]) ?? "",
        model:
          toText(findParameter("model", "model_name", "modelName")) ??
          toText(metadata["ls_model_name"]) ??
          "",
      },
    ],
    notes,
  });
}

const rolesByName: Readonly<Record<string, MessageRole>> = {
  system: "system",
  developer: "system",
  user: "user",
  assistant: "assistant",
  tool: "tool",
};

/**
 * Converts a message. Each tool result becomes a separate message before the other parts, because models require the
 * results directly after the message with the tool calls.
 */
function toMessages(
  { role, parts }: ChatMessage,
  omitted: { count: number },
): readonly PlaygroundMessage[] {
  const results = parts.filter((part) => part.kind === "toolResult");
  const others = parts.filter((part) => part.kind !== "toolResult");
  const toolCalls = others.flatMap((part) =>
    part.kind === "toolCall"
      ? [{ id: part.id, name: part.name, arguments: toResultText(part.args) }]
      : [],
  );
  const images = others.flatMap((part) => (part.kind === "image" ? [part.address] : []));
  const text = others.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join("\n");
  omitted.count += others.filter(isOmitted).length;
  const messageRole = rolesByName[role] ?? "user";
  const isEmpty = text === "" && images.length + toolCalls.length === 0;
  return [
    ...results.map(({ id, value }) =>
      createMessage("tool", toResultText(value), { toolCallId: id }),
    ),
    ...(isEmpty && parts.length > 0
      ? []
      : [
          createMessage(messageRole === "tool" ? "user" : messageRole, text, { images, toolCalls }),
        ]),
  ];
}

const isOmitted = (part: ChatPart): boolean => part.kind === "thinking" || part.kind === "other";

/** The text of a tool's result or arguments. Lists of text parts are joined. */
function toResultText(value: unknown): string {
  const texts = toItems(value).map((part) => toText(toRecord(part)["text"]));
  if (texts.length > 0 && texts.every((text) => text !== undefined)) {
    return texts.join("\n");
  }
  return toText(value) ?? JSON.stringify(value ?? {});
}

const toNumberText = (value: unknown): string => String(toNumber(value) ?? "");

/** Returns the output schema as JSON text. Reads the formats of OpenAI's two APIs and of Anthropic's API. */
function toSchemaText(value: unknown): string {
  const { json_schema, format, schema } = toRecord(value);
  const jsonSchema =
    toRecord(json_schema)["schema"] ??
    toRecord(format)["schema"] ??
    omitUndefined({ schema }).schema;
  return jsonSchema === undefined ? "" : JSON.stringify(jsonSchema, undefined, 2);
}

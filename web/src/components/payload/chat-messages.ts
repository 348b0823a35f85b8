/** A message between a user, a model and its tools, converted from any of the recorded formats. */
export interface ChatMessage {
  readonly role: string;
  readonly name: string | undefined;
  readonly parts: readonly ChatPart[];
}

/** A part of a message's content. */
export type ChatPart =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "thinking"; readonly text: string }
  /** `address` is the image's URL. Images are shown only for `data:` URLs; any other URL is shown as a link. */
  | { readonly kind: "image"; readonly address: string }
  | {
      readonly kind: "toolCall";
      readonly id: string;
      readonly name: string;
      readonly args: unknown;
    }
  | { readonly kind: "toolResult"; readonly id: string; readonly value: unknown }
  | { readonly kind: "other"; readonly value: unknown };

type Fields = Readonly<Record<string, unknown>>;

const maxMessages = 2_000;

/**
 * Finds the messages in the inputs or outputs of a run. It recognizes the formats of OpenAI (Chat Completions,
 * Responses and Completions), Anthropic, Gemini, LangChain and the AI SDK. Returns `undefined` if there are none.
 */
export function toChatMessages(value: unknown): readonly ChatMessage[] | undefined {
  const messages = findMessages(value, 0);
  return messages === undefined || messages.length === 0
    ? undefined
    : messages.slice(0, maxMessages);
}

/** Members that can contain messages, in the order in which they are searched. */
const messageMembers = [
  "messages",
  "message",
  "contents",
  "prompt",
  "input",
  "output",
  "chat_history",
] as const;
/** The deepest level of nesting that is searched. */
const maxNesting = 3;

function findMessages(value: unknown, depth: number): ChatMessage[] | undefined {
  if (depth > maxNesting) {
    return undefined;
  }
  if (Array.isArray(value)) {
    return parseList(value, depth);
  }
  const fields = toFields(value);
  if (fields === undefined) {
    return undefined;
  }
  const message = toMessage(fields);
  if (message !== undefined) {
    return [message];
  }
  const kwargs = fields["lc"] === undefined ? undefined : toFields(fields["kwargs"]);
  if (kwargs !== undefined) {
    return findMessages(kwargs, depth + 1);
  }
  const responses = parseChoices(fields) ?? parseCandidates(fields) ?? parseGenerations(fields);
  if (responses !== undefined) {
    return responses;
  }
  for (const member of messageMembers) {
    const inner = fields[member];
    const messages = typeof inner === "object" ? findMessages(inner, depth + 1) : undefined;
    if (messages !== undefined) {
      return [...parseSystemPrompt(fields), ...messages];
    }
  }
  const prompt = parseTextPrompt(fields);
  if (prompt !== undefined) {
    return [...parseSystemPrompt(fields), prompt];
  }
  const [onlyValue, ...others] = Object.values(fields);
  return others.length === 0 && typeof onlyValue === "object"
    ? findMessages(onlyValue, depth + 1)
    : undefined;
}

function parseList(items: readonly unknown[], depth: number): ChatMessage[] | undefined {
  const [first] = items;
  if (Array.isArray(first) && !isMessageTuple(first)) {
    return findMessages(first, depth + 1);
  }
  const messages: ChatMessage[] = [];
  for (const item of items.slice(0, maxMessages)) {
    const message = isMessageTuple(item)
      ? parseMessageTuple(item)
      : toMessage(toFields(item) ?? {});
    if (message === undefined) {
      return undefined;
    }
    messages.push(message);
  }
  return messages.length === 0 ? undefined : messages;
}

/** The text that OpenAI's Responses and Completions APIs accept in place of messages, next to the model's name. */
function parseTextPrompt({ model, input, prompt }: Fields): ChatMessage | undefined {
  const text = input ?? prompt;
  return typeof model === "string" && typeof text === "string"
    ? createTextMessage("user", text)
    : undefined;
}

/**
 * The system prompt that is not one of the messages: `system` of Anthropic, `instructions` of OpenAI,
 * `systemInstruction` of Gemini.
 */
function parseSystemPrompt({ system, instructions, systemInstruction }: Fields): ChatMessage[] {
  const content =
    system ?? instructions ?? toFields(systemInstruction)?.["parts"] ?? systemInstruction;
  const parts = content === undefined ? [] : toParts(content);
  return parts.length === 0 ? [] : [{ role: "system", name: undefined, parts }];
}

function parseChoices({ choices }: Fields): ChatMessage[] | undefined {
  if (!Array.isArray(choices)) {
    return undefined;
  }
  const messages = choices.flatMap((choice) => {
    const fields = toFields(choice) ?? {};
    const { text } = fields;
    const message =
      typeof text === "string"
        ? createTextMessage("assistant", text)
        : toMessage(toFields(fields["message"] ?? fields["delta"]) ?? {}, "assistant");
    return message === undefined ? [] : [message];
  });
  return messages.length === 0 ? undefined : messages;
}

/** The answers of Gemini. */
function parseCandidates({ candidates }: Fields): ChatMessage[] | undefined {
  if (!Array.isArray(candidates)) {
    return undefined;
  }
  const messages = candidates.flatMap((candidate) => {
    const content = toFields(toFields(candidate)?.["content"]) ?? {};
    const message = toMessage(content, "assistant");
    return message === undefined ? [] : [message];
  });
  return messages.length === 0 ? undefined : messages;
}

function parseGenerations({ generations }: Fields): ChatMessage[] | undefined {
  if (!Array.isArray(generations)) {
    return undefined;
  }
  const messages = generations.flat().flatMap((generation: unknown) => {
    const { message, text } = toFields(generation) ?? {};
    const converted =
      toMessage(toFields(message) ?? {}) ??
      (typeof text === "string" ? createTextMessage("assistant", text) : undefined);
    return converted === undefined ? [] : [converted];
  });
  return messages.length === 0 ? undefined : messages;
}

const rolesByRecordedName: Readonly<Record<string, string>> = {
  human: "user",
  HumanMessage: "user",
  HumanMessageChunk: "user",
  ai: "assistant",
  AIMessage: "assistant",
  AIMessageChunk: "assistant",
  model: "assistant",
  SystemMessage: "system",
  system: "system",
  ToolMessage: "tool",
  tool: "tool",
  FunctionMessage: "tool",
  function: "tool",
};

/** Converts the fields of one message; `undefined` if they are not a message. */
function toMessage(fields: Fields, fallbackRole?: string): ChatMessage | undefined {
  const converted = parseLangChainMessage(fields) ?? parseResponseItem(fields);
  if (converted !== undefined) {
    return converted;
  }
  const { role } = fields;
  const roleName = typeof role === "string" ? role : fallbackRole;
  const hasContent = "content" in fields || "tool_calls" in fields || "parts" in fields;
  return roleName === undefined || !hasContent
    ? undefined
    : buildMessage(rolesByRecordedName[roleName] ?? roleName, fields);
}

/**
 * Converts LangChain's formats: `{ lc: 1, id: [..., "HumanMessage"], kwargs }`, `{ type: "human", data }` and
 * `{ type: "human", content }`.
 */
function parseLangChainMessage(fields: Fields): ChatMessage | undefined {
  const { id, kwargs, type, data } = fields;
  const className: unknown = Array.isArray(id) ? id.at(-1) : undefined;
  const kwargsFields = toFields(kwargs);
  if (fields["lc"] !== undefined && typeof className === "string" && kwargsFields !== undefined) {
    const role = rolesByRecordedName[className];
    return role === undefined ? undefined : buildMessage(role, kwargsFields);
  }
  const role =
    typeof type === "string" && fields["role"] === undefined
      ? rolesByRecordedName[type]
      : undefined;
  const messageFields = toFields(data) ?? fields;
  return role !== undefined && "content" in messageFields
    ? buildMessage(role, messageFields)
    : undefined;
}

/** Matches the types of OpenAI's response items that are not messages: tool calls, their results, and reasoning. */
const responseItemType = /^(?:reasoning|item_reference|[a-z_]+_call(?:_output)?|mcp_[a-z_]+)$/;

function parseResponseItem(fields: Fields): ChatMessage | undefined {
  const { type, role: namedRole } = fields;
  if (typeof type !== "string" || namedRole !== undefined || !responseItemType.test(type)) {
    return undefined;
  }
  const role = type.endsWith("_output") ? "tool" : "assistant";
  return { role, name: undefined, parts: [toPart(fields)] };
}

function buildMessage(role: string, fields: Fields): ChatMessage {
  const { content, parts, tool_call_id, refusal, name } = fields;
  const additionalFields = toFields(fields["additional_kwargs"]) ?? {};
  const toolCalls = [fields["tool_calls"], additionalFields["tool_calls"]].find(
    (list): list is unknown[] => Array.isArray(list) && list.length > 0,
  );
  const functionCall = toFields(fields["function_call"]);
  const contentParts = toParts(content ?? parts);
  const hasCalls = contentParts.some(({ kind }) => kind === "toolCall");
  const bodyParts: ChatPart[] =
    typeof tool_call_id === "string"
      ? [{ kind: "toolResult", id: tool_call_id, value: content }]
      : contentParts;
  return {
    role,
    name: typeof name === "string" ? name : undefined,
    parts: [
      ...bodyParts,
      ...(typeof refusal === "string" ? [{ kind: "text", text: refusal } as const] : []),
      ...(hasCalls
        ? []
        : (toolCalls ?? (functionCall === undefined ? [] : [functionCall])).map(toToolCall)),
    ],
  };
}

const createTextMessage = (role: string, text: string): ChatMessage => ({
  role,
  name: undefined,
  parts: [{ kind: "text", text }],
});

/** A message as `[role, text]`, which LangChain accepts. */
type MessageTuple = readonly [string, string];

const isMessageTuple = (value: unknown): value is MessageTuple =>
  Array.isArray(value) &&
  value.length === 2 &&
  value.every((item) => typeof item === "string") &&
  /^(human|user|ai|assistant|system|tool|placeholder)$/.test(String(value[0]));

const parseMessageTuple = ([role, text]: MessageTuple): ChatMessage =>
  createTextMessage(rolesByRecordedName[role] ?? role, text);

function toParts(content: unknown): ChatPart[] {
  if (content === null || content === undefined || content === "") {
    return [];
  }
  if (typeof content === "string") {
    return [{ kind: "text", text: content }];
  }
  return Array.isArray(content) ? content.map(toPart) : [toPart(content)];
}

function toPart(value: unknown): ChatPart {
  if (typeof value === "string") {
    return { kind: "text", text: value };
  }
  const fields = toFields(value) ?? {};
  switch (fields["type"]) {
    case "thinking":
      return { kind: "thinking", text: toTextOrEmpty(fields["thinking"]) };
    case "reasoning":
      return { kind: "thinking", text: readReasoning(fields) };
    case "image_url":
    case "input_image":
    case "image":
      return toImage(fields) ?? { kind: "other", value };
    case "tool_use":
    case "server_tool_use":
    case "mcp_tool_use":
    case "custom_tool_call":
    case "tool-call":
    case "tool_call":
    case "function_call":
      return toToolCall(fields);
    case "tool_result":
    case "web_search_tool_result":
    case "mcp_tool_result":
    case "custom_tool_call_output":
    case "tool-result":
    case "function_call_output":
      return {
        kind: "toolResult",
        id: toTextOrEmpty(fields["tool_use_id"] ?? fields["toolCallId"] ?? fields["call_id"]),
        value: fields["content"] ?? fields["output"] ?? fields["result"],
      };
    default: {
      const text = fields["text"] ?? fields["refusal"];
      if (typeof text === "string") {
        return { kind: fields["thought"] === true ? "thinking" : "text", text };
      }
      return toGeminiPart(fields) ?? { kind: "other", value };
    }
  }
}

/** Converts a part of a Gemini message that is not a text. Its kind follows from the name of its only member. */
function toGeminiPart(fields: Fields): ChatPart | undefined {
  const call = toFields(fields["functionCall"]);
  if (call !== undefined) {
    return toToolCall(call);
  }
  const result = toFields(fields["functionResponse"]);
  if (result !== undefined) {
    const id = toTextOrEmpty(result["id"] ?? result["name"]);
    return { kind: "toolResult", id, value: result["response"] };
  }
  const inline = toFields(fields["inlineData"]);
  const type = toTextOrEmpty(inline?.["mimeType"]);
  const data = inline?.["data"];
  // For an image that the model created, the run may contain a text in brackets instead of the data.
  return type.startsWith("image/") && typeof data === "string" && !data.startsWith("[")
    ? { kind: "image", address: `data:${type};base64,${data}` }
    : undefined;
}

function readReasoning({ text, summary }: Fields): string {
  const items: readonly unknown[] = Array.isArray(summary) ? summary : [];
  const lines = items.map((item) => toTextOrEmpty(toFields(item)?.["text"]));
  return typeof text === "string" ? text : lines.join("\n");
}

function toImage(fields: Fields): ChatPart | undefined {
  const source = toFields(fields["source"]);
  if (source?.["type"] === "base64") {
    const address = `data:${toTextOrEmpty(source["media_type"])};base64,${toTextOrEmpty(source["data"])}`;
    return { kind: "image", address };
  }
  const { image_url: inner } = fields;
  const address = toFields(inner)?.["url"] ?? inner ?? source?.["url"] ?? fields["image"];
  return typeof address === "string" ? { kind: "image", address } : undefined;
}

/** Converts a tool call of any provider. OpenAI sends the arguments as a JSON string, others as an object. */
function toToolCall(value: unknown): ChatPart {
  const fields = toFields(value) ?? {};
  const callFields = toFields(fields["function"]) ?? fields;
  const args = callFields["arguments"] ?? callFields["args"] ?? callFields["input"];
  return {
    kind: "toolCall",
    id: toTextOrEmpty(fields["call_id"] ?? fields["toolCallId"] ?? fields["id"]),
    name: toTextOrEmpty(callFields["name"] ?? callFields["toolName"]),
    args: typeof args === "string" ? parseJsonOrText(args) : args,
  };
}

function parseJsonOrText(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return text; // A model generated the text, so it may not be valid JSON.
  }
}

const toTextOrEmpty = (value: unknown): string => (typeof value === "string" ? value : "");

const toFields = (value: unknown): Fields | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Fields)
    : undefined;

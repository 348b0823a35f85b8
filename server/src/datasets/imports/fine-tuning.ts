import type { Example } from "../examples/example.ts";

type JsonObject = Readonly<Record<string, unknown>>;

/** Roles in the fine-tuning format, by the role or the class of a message. */
const roles: ReadonlyMap<string, string> = new Map([
  ["human", "user"],
  ["user", "user"],
  ["HumanMessage", "user"],
  ["HumanMessageChunk", "user"],
  ["ai", "assistant"],
  ["assistant", "assistant"],
  ["AIMessage", "assistant"],
  ["AIMessageChunk", "assistant"],
  ["system", "system"],
  ["SystemMessage", "system"],
  ["developer", "developer"],
  ["function", "function"],
  ["FunctionMessage", "function"],
  ["tool", "tool"],
  ["ToolMessage", "tool"],
]);

/** Message members that the fine-tuning format accepts in addition to role and content. */
const copiedMembers = [
  "name",
  "function_call",
  "tool_calls",
  "tool_call_id",
  "weight",
  "refusal",
  "audio",
];

/**
 * Converts an example to a line of a fine-tuning file: the messages of the inputs, then those of the outputs. A plain
 * string counts as a message.
 *
 * @throws Error it contains neither messages nor strings; the message says where.
 */
export function toFineTuning({ inputs, outputs }: Pick<Example, "inputs" | "outputs">): string {
  const inputValues = JSON.parse(inputs) as JsonObject;
  const outputValues = outputs === null ? undefined : (JSON.parse(outputs) as JsonObject);
  if (outputValues === undefined) {
    throw new Error("it has no outputs");
  }
  const messages = [
    ...findMessages(inputValues, { role: "user", label: "inputs" }),
    ...findMessages(outputValues, { role: "assistant", label: "outputs" }),
  ];
  const tools = inputValues["tools"];
  const functions = inputValues["functions"];
  return JSON.stringify({
    messages,
    ...(Array.isArray(tools) && { tools }),
    ...(Array.isArray(functions) && { functions }),
  });
}

interface MessageDefaults {
  /** The role of a message that is a plain string. */
  readonly role: string;
  /** How error messages refer to this part of the example. */
  readonly label: string;
}

/** Members that usually hold messages or text, the most likely first. */
const messageMembers = [
  "messages",
  "input",
  "output",
  "message",
  "question",
  "answer",
  "prompt",
  "text",
];

function findMessages(value: JsonObject, { role, label }: MessageDefaults): JsonObject[] {
  const names = Object.keys(value);
  const usualName = messageMembers.find((name) => Object.hasOwn(value, name));
  const memberName = usualName ?? (names.length === 1 ? names[0] : undefined);
  const content = isMessage(value) ? value : value[memberName ?? ""];
  if (typeof content === "string") {
    return [{ role, content }];
  }
  const list: readonly unknown[] = Array.isArray(content) ? content.flat() : [content];
  if (list.length === 0 || !list.every(isMessage)) {
    throw new Error(`the ${label} contain neither messages nor a string`);
  }
  return list.map((message) => toMessage(message, label));
}

const isMessage = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && roleOf(value as JsonObject) !== undefined;

/**
 * The role of a message in any of three forms: `{role, content}`, `{type, data: {content}}`, or a serialized class
 * `{lc, id, kwargs}`.
 */
function roleOf(message: JsonObject): string | undefined {
  const { role, type, id } = message;
  const name: unknown = type === "constructor" && Array.isArray(id) ? id.at(-1) : (role ?? type);
  return typeof name === "string" ? roles.get(name) : undefined;
}

function toMessage(message: JsonObject, label: string): JsonObject {
  const data = [message["data"], message["kwargs"], message].find(isObject) ?? message;
  const extra = isObject(data["additional_kwargs"]) ? data["additional_kwargs"] : {};
  const content = data["content"];
  const calls = toToolCalls(data["tool_calls"]) ?? toToolCalls(extra["tool_calls"]);
  const members = copiedMembers.flatMap((name) => {
    const value = name === "tool_calls" ? calls : (data[name] ?? extra[name]);
    return value === undefined || value === null ? [] : [[name, value] as const];
  });
  if (content === undefined && members.length === 0) {
    throw new Error(`a message in the ${label} has no content`);
  }
  return {
    role: roleOf(message),
    content: content === undefined || (content === "" && members.length > 0) ? null : content,
    ...Object.fromEntries(members),
  };
}

/**
 * Converts LangChain tool calls, which have name, args and id, to the fine-tuning format; others are already in it.
 */
function toToolCalls(value: unknown): readonly unknown[] | undefined {
  if (!Array.isArray(value) || value.length === 0) {
    return undefined;
  }
  return value.map((call: unknown) =>
    isObject(call) && isObject(call["args"]) && call["function"] === undefined
      ? {
          id: call["id"],
          type: "function",
          function: { name: call["name"], arguments: JSON.stringify(call["args"]) },
        }
      : call,
  );
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

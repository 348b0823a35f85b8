import type { Example } from "../examples/example.ts";

type JsonObject = Readonly<Record<string, unknown>>;

/** The roles of the fine-tuning format, by the role, type or class name of a message. */
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

/** Members of messages that the fine-tuning format accepts in addition to role and content. */
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
 * @throws Error the example can't be converted, for example because it has no outputs; the message contains the reason.
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
  /** What error messages call the JSON object that contains the messages: `inputs` or `outputs`. */
  readonly label: string;
}

/** Names of members that usually contain messages or text, the most likely first. */
const usualMembers = [
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
  const usualMember = usualMembers.find((name) => Object.hasOwn(value, name));
  const memberName = usualMember ?? (names.length === 1 ? names[0] : undefined);
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
  typeof value === "object" && value !== null && findRole(value as JsonObject) !== undefined;

/**
 * Finds the role of a message in one of three formats: `{role, content}`, `{type, data: {content}}`, or a serialized
 * LangChain class `{lc, id, kwargs}`.
 */
function findRole(message: JsonObject): string | undefined {
  const { role, type, id } = message;
  const name: unknown = type === "constructor" && Array.isArray(id) ? id.at(-1) : (role ?? type);
  return typeof name === "string" ? roles.get(name) : undefined;
}

function toMessage(message: JsonObject, label: string): JsonObject {
  const data = [message["data"], message["kwargs"], message].find(isObject) ?? message;
  const additionalMembers = isObject(data["additional_kwargs"]) ? data["additional_kwargs"] : {};
  const content = data["content"];
  const toolCalls = toToolCalls(data["tool_calls"]) ?? toToolCalls(additionalMembers["tool_calls"]);
  const members = copiedMembers.flatMap((name) => {
    const value = name === "tool_calls" ? toolCalls : (data[name] ?? additionalMembers[name]);
    return value === undefined || value === null ? [] : [[name, value] as const];
  });
  if (content === undefined && members.length === 0) {
    throw new Error(`a message in the ${label} has no content`);
  }
  return {
    role: findRole(message),
    content: content === undefined || (content === "" && members.length > 0) ? null : content,
    ...Object.fromEntries(members),
  };
}

/**
 * Converts tool calls of LangChain, which have the members name, args and id, to the fine-tuning format. Other tool
 * calls already have that format.
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

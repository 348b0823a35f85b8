import type { Example } from "../examples/example.ts";

type JsonObject = Readonly<Record<string, unknown>>;

/** Roles of fine-tuning, by what messages call who speaks. */
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

/** Members of a message that fine-tuning takes, beside its role and content. */
const kept = ["name", "function_call", "tool_calls", "tool_call_id", "weight", "refusal", "audio"];

/**
 * An example as a line of a fine-tuning file: messages in, the answer last. A text counts as a message.
 *
 * @throws Error it holds neither messages nor texts; the message names the fault.
 */
export function toFineTuning({ inputs, outputs }: Pick<Example, "inputs" | "outputs">): string {
  const given = JSON.parse(inputs) as JsonObject;
  const answer = outputs === null ? undefined : (JSON.parse(outputs) as JsonObject);
  if (answer === undefined) {
    throw new Error("it has no outputs");
  }
  const messages = [
    ...findMessages(given, { who: "user", what: "inputs" }),
    ...findMessages(answer, { who: "assistant", what: "outputs" }),
  ];
  const tools = given["tools"];
  const functions = given["functions"];
  return JSON.stringify({
    messages,
    ...(Array.isArray(tools) && { tools }),
    ...(Array.isArray(functions) && { functions }),
  });
}

interface Side {
  /** The role of a message that is only a text. */
  readonly who: string;
  readonly what: string;
}

/** Members that hold what was said, the likeliest first. */
const places = ["messages", "input", "output", "message", "question", "answer", "prompt", "text"];

function findMessages(value: JsonObject, { who, what }: Side): JsonObject[] {
  const names = Object.keys(value);
  const place = places.find((name) => Object.hasOwn(value, name));
  const name = place ?? (names.length === 1 ? names[0] : undefined);
  const said = isMessage(value) ? value : value[name ?? ""];
  if (typeof said === "string") {
    return [{ role: who, content: said }];
  }
  const list: readonly unknown[] = Array.isArray(said) ? said.flat() : [said];
  if (list.length === 0 || !list.every(isMessage)) {
    throw new Error(`${what} are neither messages nor a text`);
  }
  return list.map((message) => toMessage(message, what));
}

const isMessage = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && roleOf(value as JsonObject) !== undefined;

/** `{role, content}`, `{type, data: {content}}`, or a class's `{lc, id, kwargs}`. */
function roleOf(message: JsonObject): string | undefined {
  const { role, type, id } = message;
  const name: unknown = type === "constructor" && Array.isArray(id) ? id.at(-1) : (role ?? type);
  return typeof name === "string" ? roles.get(name) : undefined;
}

function toMessage(message: JsonObject, what: string): JsonObject {
  const data = [message["data"], message["kwargs"], message].find(isObject) ?? message;
  const extra = isObject(data["additional_kwargs"]) ? data["additional_kwargs"] : {};
  const content = data["content"];
  const calls = toToolCalls(data["tool_calls"]) ?? toToolCalls(extra["tool_calls"]);
  const members = kept.flatMap((name) => {
    const value = name === "tool_calls" ? calls : (data[name] ?? extra[name]);
    return value === undefined || value === null ? [] : [[name, value] as const];
  });
  if (content === undefined && members.length === 0) {
    throw new Error(`a message of the ${what} has no content`);
  }
  return {
    role: roleOf(message),
    content: content === undefined || (content === "" && members.length > 0) ? null : content,
    ...Object.fromEntries(members),
  };
}

/** Calls as the format has them; those of LangChain have name, args and id. */
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

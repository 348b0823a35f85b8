import type { KeyValues, RunType } from "../../main/index.ts";
import { isFields } from "./spans.ts";
import type { AgentsSpan, Fields } from "./spans.ts";

/** What is known of a span's run when it starts. */
export interface SpanStart {
  readonly name: string;
  readonly runType: RunType;
  /** Whether the span is a call of a model, which a wrapped client underneath must not record again. */
  readonly isModelCall: boolean;
  readonly metadata: KeyValues;
}

/** What is known of a span's run when it ends. */
export interface SpanEnd {
  readonly inputs?: KeyValues;
  readonly outputs?: KeyValues;
  readonly metadata?: KeyValues;
  /** Of a model call: what the agents around it have as input and output, unless another call came before or follows. */
  readonly modelCall?: { readonly input: unknown; readonly text: string | undefined };
}

/** Recorded if the data of a span throws when it is read. */
const unreadable: KeyValues = { millrace_error: "the data of the span can't be read" };

/** The run type of each kind of span. All others are chains. */
const runTypes: Readonly<Partial<Record<string, RunType>>> = {
  generation: "llm",
  response: "llm",
  transcription: "llm",
  speech: "llm",
  function: "tool",
  mcp_tools: "tool",
};

/** Never throws. */
export function describeStart(span: AgentsSpan): SpanStart {
  try {
    return readStart(span);
  } catch {
    return { name: "span", runType: "chain", isModelCall: false, metadata: unreadable };
  }
}

function readStart({ spanData }: AgentsSpan): SpanStart {
  const { type, ...data }: Fields & { readonly type: string } = { ...spanData };
  const isModelCall = runTypes[type] === "llm";
  return {
    name: nameOf(type, data),
    runType: runTypes[type] ?? "chain",
    isModelCall,
    metadata: {
      openai_agents_span: type,
      ...(isModelCall ? { ls_provider: "openai", ls_model_type: "chat" } : {}),
      ...(type === "agent" ? pick(data, ["tools", "handoffs", "output_type"]) : {}),
      ...(type === "turn" ? pick(data, ["turn", "agent_name"]) : {}),
    },
  };
}

function nameOf(type: string, { name, turn, server }: Fields): string {
  if (typeof name === "string" && name !== "") {
    return name;
  }
  if (type === "turn" && typeof turn === "number") {
    return `turn ${turn}`;
  }
  if (type === "mcp_tools") {
    return typeof server === "string" ? `list tools of ${server}` : "list tools";
  }
  return type;
}

/** Never throws. */
export function describeEnd(span: AgentsSpan): SpanEnd {
  try {
    return readEnd(span);
  } catch {
    return { metadata: unreadable };
  }
}

/** Never throws. Returns `undefined` for a span without an error. */
export function describeError({ error }: AgentsSpan): string | undefined {
  if (error === null) {
    return undefined;
  }
  try {
    return error.data === undefined
      ? error.message
      : `${error.message}: ${JSON.stringify(error.data)}`;
  } catch {
    return error.message;
  }
}

function readEnd({ spanData }: AgentsSpan): SpanEnd {
  const data: Fields = { ...spanData };
  switch (spanData.type) {
    case "response":
      return describeResponse(data);
    case "generation":
      return describeGeneration(data);
    case "function":
      return {
        inputs: parseArguments(data["input"]),
        outputs: known({ output: parseJson(data["output"]) }),
        metadata: known({ mcp: parseJson(data["mcp_data"]) }),
      };
    case "handoff":
      return { inputs: pick(data, ["from_agent"]), outputs: pick(data, ["to_agent"]) };
    case "guardrail":
      return { outputs: pick(data, ["triggered"]) };
    case "mcp_tools":
      return { inputs: pick(data, ["server"]), outputs: known({ tools: data["result"] }) };
    case "custom":
      return { outputs: isFields(data["data"]) ? data["data"] : {} };
    case "transcription":
    case "speech":
      return {
        inputs: known({ input: withoutAudio(data["input"]) }),
        outputs: known({ output: withoutAudio(data["output"]) }),
        metadata: describeModel(data["model"], data["model_config"]),
      };
    case "speech_group":
      return { inputs: pick(data, ["input"]) };
    case "agent":
    case "task":
    case "turn":
      // Not `usage_metadata`: the tokens are those of the model calls below, and would count twice.
      return {
        metadata: {
          ...pick(data, ["tools", "handoffs"]),
          ...known({ agent_usage: data["usage"] }),
        },
      };
    default:
      // A kind of span that is newer than this code.
      return { outputs: data };
  }
}

/** A call of the Responses API. `_response` is its response, and is absent if the program excludes sensitive data. */
function describeResponse({
  _input: input,
  _response: response,
  response_id: id,
}: Fields): SpanEnd {
  const metadata = known({ response_id: id });
  if (!isFields(response)) {
    return { inputs: known({ input }), metadata };
  }
  return {
    inputs: known({ input, instructions: response["instructions"] ?? undefined }),
    outputs: known({ ...response, usage_metadata: toUsage(response["usage"]) }),
    metadata: {
      ...metadata,
      ...describeModel(response["model"], response),
    },
    modelCall: {
      input,
      text: textOf(listOf(response["output"]).flatMap((item) => listOf(read(item, "content")))),
    },
  };
}

/** A call of chat completions, or of a model of another provider. */
function describeGeneration({
  input,
  output,
  model,
  model_config: config,
  usage,
}: Fields): SpanEnd {
  const [first, ...others] = listOf(output);
  const outputs = isFields(first) && others.length === 0 ? first : { output };
  const message = read(listOf(read(first, "choices"))[0], "message");
  return {
    inputs: known({ messages: input }),
    outputs: known({ ...outputs, usage_metadata: toUsage(usage ?? read(first, "usage")) }),
    metadata: describeModel(model, config),
    modelCall: { input, text: textOf([{ text: read(message, "content") }]) },
  };
}

/** Tokens in the form of all runs. The APIs count cached tokens within the input. */
function toUsage(usage: unknown): KeyValues | undefined {
  if (!isFields(usage)) {
    return undefined;
  }
  const input = toCount(usage["input_tokens"] ?? usage["prompt_tokens"]);
  const output = toCount(usage["output_tokens"] ?? usage["completion_tokens"]);
  if (input === undefined && output === undefined) {
    return undefined;
  }
  const inputDetails = usage["input_tokens_details"] ?? usage["prompt_tokens_details"];
  const outputDetails = usage["output_tokens_details"] ?? usage["completion_tokens_details"];
  return {
    input_tokens: input ?? 0,
    output_tokens: output ?? 0,
    total_tokens: toCount(usage["total_tokens"]) ?? (input ?? 0) + (output ?? 0),
    ...detail("input_token_details", "cache_read", read(inputDetails, "cached_tokens")),
    ...detail("output_token_details", "reasoning", read(outputDetails, "reasoning_tokens")),
  };
}

const detail = (group: string, name: string, count: unknown): KeyValues =>
  toCount(count) === undefined ? {} : { [group]: { [name]: count } };

const toCount = (value: unknown): number | undefined =>
  typeof value === "number" && value >= 0 ? value : undefined;

function describeModel(model: unknown, config: unknown): KeyValues {
  const temperature = read(config, "temperature");
  return {
    ...(typeof model === "string" ? { ls_model_name: model } : {}),
    ...(typeof temperature === "number" ? { ls_temperature: temperature } : {}),
  };
}

/** The texts of the parts of a message, joined. */
function textOf(parts: readonly unknown[]): string | undefined {
  const text = parts
    .map((part) => read(part, "text"))
    .filter((each) => typeof each === "string")
    .join("");
  return text === "" ? undefined : text;
}

/** The arguments of a tool, which the model writes as JSON. */
function parseArguments(text: unknown): KeyValues {
  const value = parseJson(text);
  return isFields(value) ? value : known({ input: value });
}

function parseJson(text: unknown): unknown {
  if (typeof text !== "string") {
    return text;
  }
  if (text === "") {
    // The Agents SDK's default, also if the program excludes sensitive data.
    return undefined;
  }
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // Tools may return any text.
    return text;
  }
}

/** Audio stands in spans as base64 text. It is replaced by its length. */
const withoutAudio = (value: unknown): unknown =>
  isFields(value) && typeof value["data"] === "string"
    ? { format: value["format"], base64Length: value["data"].length }
    : value;

const read = (value: unknown, key: string): unknown => (isFields(value) ? value[key] : undefined);

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** The members that are known. */
const known = (fields: Fields): KeyValues =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

const pick = (fields: Fields, keys: readonly string[]): KeyValues =>
  known(Object.fromEntries(keys.map((key) => [key, fields[key]])));

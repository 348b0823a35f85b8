import type { KeyValues, RunType } from "../../main/index.ts";
import { isFields } from "./spans.ts";
import type { AgentsSpan, Fields } from "./spans.ts";

/** The data of a span's run at its start. */
export interface SpanStart {
  readonly name: string;
  readonly runType: RunType;
  /** Whether the span is a model call. A wrapped client that makes the request must not record it again. */
  readonly isModelCall: boolean;
  readonly metadata: KeyValues;
}

/** The data of a span's run at its end. */
export interface SpanEnd {
  readonly inputs?: KeyValues;
  readonly outputs?: KeyValues;
  readonly metadata?: KeyValues;
  /**
   * For a model call: its input and output text. They become the input of the agents around it if this is their first
   * model call, and the output if it is the last.
   */
  readonly modelCall?: { readonly input: unknown; readonly text: string | undefined };
}

/** Metadata of a span whose data throws when it is read. */
const unreadable: KeyValues = { millrace_error: "the data of the span can't be read" };

/** Run types by the kind of span. Spans of any other kind become runs of the type `chain`. */
const runTypes: Readonly<Partial<Record<string, RunType>>> = {
  generation: "llm",
  response: "llm",
  transcription: "llm",
  speech: "llm",
  function: "tool",
  mcp_tools: "tool",
};

/** Returns what is known of a span at its start. Never throws. */
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
    name: createName(type, data),
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

function createName(type: string, { name, turn, server }: Fields): string {
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

/** Returns what is known of a span at its end. Never throws. */
export function describeEnd(span: AgentsSpan): SpanEnd {
  try {
    return readEnd(span);
  } catch {
    return { metadata: unreadable };
  }
}

/** Returns the text of a span's error; `undefined` for a span without an error. Never throws. */
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
        outputs: omitUndefined({ output: parseJson(data["output"]) }),
        metadata: omitUndefined({ mcp: parseJson(data["mcp_data"]) }),
      };
    case "handoff":
      return { inputs: pick(data, ["from_agent"]), outputs: pick(data, ["to_agent"]) };
    case "guardrail":
      return { outputs: pick(data, ["triggered"]) };
    case "mcp_tools":
      return { inputs: pick(data, ["server"]), outputs: omitUndefined({ tools: data["result"] }) };
    case "custom":
      return { outputs: isFields(data["data"]) ? data["data"] : {} };
    case "transcription":
    case "speech":
      return {
        inputs: omitUndefined({ input: withoutAudio(data["input"]) }),
        outputs: omitUndefined({ output: withoutAudio(data["output"]) }),
        metadata: describeModel(data["model"], data["model_config"]),
      };
    case "speech_group":
      return { inputs: pick(data, ["input"]) };
    case "agent":
    case "task":
    case "turn":
      // The key is not `usage_metadata`, because the tokens are those of the model calls below and would be counted
      // twice.
      return {
        metadata: {
          ...pick(data, ["tools", "handoffs"]),
          ...omitUndefined({ agent_usage: data["usage"] }),
        },
      };
    default:
      // An unknown kind of span, such as one of a later version of the Agents SDK.
      return { outputs: data };
  }
}

/** A call of the Responses API. `_response` is its response, and is absent if the program excludes sensitive data. */
function describeResponse({
  _input: input,
  _response: response,
  response_id: id,
}: Fields): SpanEnd {
  const metadata = omitUndefined({ response_id: id });
  if (!isFields(response)) {
    return { inputs: omitUndefined({ input }), metadata };
  }
  return {
    inputs: omitUndefined({ input, instructions: response["instructions"] ?? undefined }),
    outputs: omitUndefined({ ...response, usage_metadata: toUsage(response["usage"]) }),
    metadata: {
      ...metadata,
      ...describeModel(response["model"], response),
    },
    modelCall: {
      input,
      text: joinTexts(
        toList(response["output"]).flatMap((item) => toList(readMember(item, "content"))),
      ),
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
  const [first, ...others] = toList(output);
  const outputs = isFields(first) && others.length === 0 ? first : { output };
  const message = readMember(toList(readMember(first, "choices"))[0], "message");
  return {
    inputs: omitUndefined({ messages: input }),
    outputs: omitUndefined({
      ...outputs,
      usage_metadata: toUsage(usage ?? readMember(first, "usage")),
    }),
    metadata: describeModel(model, config),
    modelCall: { input, text: joinTexts([{ text: readMember(message, "content") }]) },
  };
}

/** Converts token counts to the usage metadata of runs. In these APIs, the input tokens include cached tokens. */
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
    ...createDetail("input_token_details", "cache_read", readMember(inputDetails, "cached_tokens")),
    ...createDetail(
      "output_token_details",
      "reasoning",
      readMember(outputDetails, "reasoning_tokens"),
    ),
  };
}

const createDetail = (group: string, name: string, count: unknown): KeyValues =>
  toCount(count) === undefined ? {} : { [group]: { [name]: count } };

const toCount = (value: unknown): number | undefined =>
  typeof value === "number" && value >= 0 ? value : undefined;

function describeModel(model: unknown, config: unknown): KeyValues {
  const temperature = readMember(config, "temperature");
  return {
    ...(typeof model === "string" ? { ls_model_name: model } : {}),
    ...(typeof temperature === "number" ? { ls_temperature: temperature } : {}),
  };
}

/** Joins the texts of the parts of a message; `undefined` if there is no text. */
function joinTexts(parts: readonly unknown[]): string | undefined {
  const text = parts
    .map((part) => readMember(part, "text"))
    .filter((each) => typeof each === "string")
    .join("");
  return text === "" ? undefined : text;
}

/** Parses the arguments of a tool, which the model writes as JSON. */
function parseArguments(text: unknown): KeyValues {
  const value = parseJson(text);
  return isFields(value) ? value : omitUndefined({ input: value });
}

function parseJson(text: unknown): unknown {
  if (typeof text !== "string") {
    return text;
  }
  if (text === "") {
    // The Agents SDK uses an empty text as the default, also if the program excludes sensitive data.
    return undefined;
  }
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // Tools may return any text.
    return text;
  }
}

/** Replaces audio, which spans contain as base64, with its format and length. */
const withoutAudio = (value: unknown): unknown =>
  isFields(value) && typeof value["data"] === "string"
    ? { format: value["format"], base64Length: value["data"].length }
    : value;

const readMember = (value: unknown, key: string): unknown =>
  isFields(value) ? value[key] : undefined;

const toList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Copies an object without the members that are `undefined`. */
const omitUndefined = (fields: Fields): KeyValues =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

const pick = (fields: Fields, keys: readonly string[]): KeyValues =>
  omitUndefined(Object.fromEntries(keys.map((key) => [key, fields[key]])));

import { toRecord, toText } from "../../api/parse.ts";
import { mapJson } from "../datasets/examples/json-map.ts";
import { fillTemplate, findTemplateFault } from "../prompts/manifest/template.ts";
import { toExperimentPrompt } from "../prompts/prompt.ts";
import { listVariables } from "./playground-state.ts";
import type { MessageRole, PlaygroundMessage, PlaygroundState } from "./playground-state.ts";

/** An error in a text. The invalid part begins at the offset `from` and ends before the offset `to`. */
export interface TextFault {
  readonly from: number;
  readonly to: number;
  readonly message: string;
}

/** A tool in the server's request format. */
export interface Tool {
  readonly name: string;
  readonly description?: string;
  readonly parameters: object;
}

/** A message in the server's request format. */
export interface RequestMessage {
  readonly role: Exclude<MessageRole, "placeholder">;
  readonly content: string;
  readonly images?: readonly string[];
  readonly toolCalls?: PlaygroundMessage["toolCalls"];
  readonly toolCallId?: string;
}

/** The body of a model call, without the name of the model. */
export interface RequestDraft {
  readonly messages: readonly RequestMessage[];
  readonly tools?: readonly Tool[];
  readonly outputSchema?: { readonly name: string; readonly schema: object };
  readonly settings: Readonly<Record<string, unknown>>;
}

/** Returns the values that the user entered for the variables. A variable without a value is left out. */
function readVariables(state: PlaygroundState): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    listVariables(state).flatMap(({ name, isStructured }) => {
      const text = state.variables[name] ?? "";
      return text === "" ? [] : [[name, isStructured ? parseOrText(text) : text]];
    }),
  );
}

/** Replaces each variable of the messages with its value. A variable without a value is sent as written. */
function fillMessages(state: PlaygroundState): readonly RequestMessage[] {
  const { format, messages } = state;
  const values = readVariables(state);
  return messages.flatMap((message): readonly RequestMessage[] => {
    const { role, text, images, toolCalls, toolCallId } = message;
    if (role === "placeholder") {
      return [values[text.trim()] ?? []].flat().map(toPlaceholderMessage);
    }
    return [
      {
        role,
        content: format === "none" ? text : fillTemplate(text, format, values),
        ...(images.length === 0 ? {} : { images }),
        ...(toolCalls.length === 0 ? {} : { toolCalls }),
        ...(role === "tool" ? { toolCallId } : {}),
      },
    ];
  });
}

/** Returns the error of the first message whose template is invalid; `undefined` if all are valid. */
function findMessageFault({ format, messages }: PlaygroundState): string | undefined {
  for (const [index, { role, text }] of messages.entries()) {
    const fault =
      format === "none" || role === "placeholder" ? undefined : findTemplateFault(text, format);
    if (fault !== undefined) {
      return `Message ${index + 1}: ${fault}.`;
    }
  }
  return undefined;
}

const rolesByName: Readonly<Record<string, RequestMessage["role"]>> = {
  human: "user",
  user: "user",
  ai: "assistant",
  assistant: "assistant",
  system: "system",
  developer: "system",
};

function toPlaceholderMessage(item: unknown): RequestMessage {
  const { role, type, content } = toRecord(item);
  return {
    role: rolesByName[toText(role) ?? toText(type) ?? ""] ?? "user",
    content: toText(content) ?? toText(item) ?? JSON.stringify(content ?? item),
  };
}

function parseOrText(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return text; // While the user is still typing the JSON, use the entered text itself.
  }
}

/** Parses the tools, in the format of OpenAI or of Anthropic, and finds their errors. */
export function parseTools(text: string): {
  readonly tools: readonly Tool[];
  readonly faults: readonly TextFault[];
} {
  if (text.trim() === "") {
    return { tools: [], faults: [] };
  }
  const map = mapJson(text);
  if (map.kind === "fault") {
    return { tools: [], faults: [map.fault] };
  }
  const getRange = (path: string) => map.ranges.get(path) ?? { from: 0, to: 1 };
  const value: unknown = JSON.parse(text);
  if (!Array.isArray(value)) {
    return {
      tools: [],
      faults: [{ from: 0, to: 1, message: "the value must be a JSON list of tools" }],
    };
  }
  const faults: TextFault[] = [];
  const names = new Set<string>();
  const tools = value.map((item: unknown, index): Tool => {
    const fields = toRecord(toRecord(item)["function"] ?? item);
    const name = toText(fields["name"]) ?? "";
    const parameters = fields["parameters"] ?? fields["input_schema"];
    if (name === "" || names.has(name)) {
      const message = name === "" ? "the tool needs a name" : `there are two tools named ${name}`;
      faults.push({ ...getRange(`/${index}`), message });
    }
    if (parameters !== undefined && !isObject(parameters)) {
      faults.push({
        ...getRange(`/${index}`),
        message: "the parameters of a tool must be a JSON schema",
      });
    }
    names.add(name);
    const description = toText(fields["description"]);
    return {
      name,
      ...(description === undefined ? {} : { description }),
      parameters: isObject(parameters) ? parameters : { type: "object", properties: {} },
    };
  });
  return { tools, faults };
}

/** Parses the output schema, and finds its errors. */
export function parseSchema(text: string): {
  readonly schema: object | undefined;
  readonly faults: readonly TextFault[];
} {
  if (text.trim() === "") {
    return { schema: undefined, faults: [] };
  }
  const map = mapJson(text);
  if (map.kind === "fault") {
    return { schema: undefined, faults: [map.fault] };
  }
  const value: unknown = JSON.parse(text);
  return isObject(value)
    ? { schema: value, faults: [] }
    : {
        schema: undefined,
        faults: [{ from: 0, to: 1, message: "the value must be a JSON schema" }],
      };
}

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The range of each setting that is a number. */
const numberRanges = {
  temperature: { min: 0, max: 2, isWhole: false },
  topP: { min: 0, max: 1, isWhole: false },
  maxTokens: { min: 1, max: 10_000_000, isWhole: true },
  seed: { min: -9_007_199_254_740_991, max: 9_007_199_254_740_991, isWhole: true },
} as const;

export type NumberSetting = keyof typeof numberRanges;

/** Returns an error message for an invalid setting, else `undefined`. */
export function findSettingFault(name: NumberSetting, text: string): string | undefined {
  const { min, max, isWhole } = numberRanges[name];
  const value = Number(text);
  const isValid =
    text.trim() === "" || (value >= min && value <= max && (!isWhole || Number.isInteger(value)));
  if (isValid) {
    return undefined;
  }
  const kind = isWhole ? "whole number" : "number";
  return name === "seed"
    ? "Enter a whole number"
    : `Enter a ${kind} from ${min} to ${max.toLocaleString("en")}`;
}

/**
 * The prompt or run from which the messages were loaded, and the values of their variables. They are recorded with the
 * call.
 */
export interface CallSource {
  /** `owner/repo:commit`. */
  readonly prompt?: string;
  readonly run?: string;
  readonly variables?: Readonly<Record<string, unknown>>;
}

export function toCallSource(state: PlaygroundState): CallSource {
  const { source } = state;
  const variables = readVariables(state);
  return {
    ...(source?.kind === "run" ? { run: source.id } : {}),
    ...(source?.kind === "prompt" ? { prompt: toExperimentPrompt(source, source.hash) } : {}),
    ...(Object.keys(variables).length === 0 ? {} : { variables }),
  };
}

/** Creates the request of a state, or returns a sentence that explains why no request can be sent. */
export function createRequest(state: PlaygroundState): RequestDraft | string {
  const { tools, faults: toolFaults } = parseTools(state.toolsText);
  const { schema, faults: schemaFaults } = parseSchema(state.schemaText);
  const invalidSetting = (Object.keys(numberRanges) as NumberSetting[]).find(
    (name) => findSettingFault(name, state.settings[name]) !== undefined,
  );
  if (toolFaults[0] !== undefined) {
    return `Tools: ${toolFaults[0].message}.`;
  }
  if (schemaFaults[0] !== undefined) {
    return `Output schema: ${schemaFaults[0].message}.`;
  }
  if (invalidSetting !== undefined) {
    return "Correct the settings first.";
  }
  const fault = findMessageFault(state);
  if (fault !== undefined) {
    return fault;
  }
  const messages = fillMessages(state);
  if (messages.length === 0) {
    return "Add a message first.";
  }
  return {
    messages,
    ...(tools.length === 0 ? {} : { tools }),
    ...(schema === undefined ? {} : { outputSchema: { name: "answer", schema } }),
    settings: createSettings(state),
  };
}

function createSettings({ settings }: PlaygroundState): Readonly<Record<string, unknown>> {
  const numbers = (Object.keys(numberRanges) as NumberSetting[]).flatMap((name) =>
    settings[name].trim() === "" ? [] : [[name, Number(settings[name])]],
  );
  const stop = settings.stop.split("\n").filter((line) => line !== "");
  return {
    ...(Object.fromEntries(numbers) as Readonly<Record<string, unknown>>),
    ...(stop.length === 0 ? {} : { stop }),
  };
}

import type { ModelRequest } from "../../models/model-request.ts";

type Parameters = Readonly<Record<string, unknown>>;
type Settings = NonNullable<ModelRequest["settings"]>;
type Tool = NonNullable<ModelRequest["tools"]>[number];

/** The tools and model settings that were saved with a prompt. They are sent together with its messages. */
export interface SavedModel {
  readonly tools?: readonly Tool[];
  readonly settings: Settings;
}

/** For each setting, the names that LangChain clients use for it. */
const settingNames = {
  temperature: ["temperature"],
  maxTokens: ["max_tokens", "maxTokens", "max_completion_tokens", "max_output_tokens"],
  topP: ["top_p", "topP"],
  seed: ["seed"],
} as const;
const stopNames = ["stop", "stop_sequences", "stopSequences"];
const effortNames = ["reasoning_effort", "reasoningEffort"];

/**
 * Reads the tools and the settings of the model that a prompt was saved with. The model itself and its other parameters
 * are not sent: the experiment chooses the model.
 *
 * @throws TypeError a tool or a setting is malformed. It is not left out, because the model would answer differently.
 */
export function readSavedModel(parameters: Parameters | undefined): SavedModel {
  if (parameters === undefined) {
    return { settings: {} };
  }
  const tools = readTools(parameters["tools"]);
  const stop = readStop(findParameter(parameters, stopNames));
  const effort = findParameter(parameters, effortNames);
  const numbers = Object.entries(settingNames).flatMap(([name, names]) => {
    const value = findParameter(parameters, names);
    if (value === undefined) {
      return [];
    }
    if (typeof value !== "number" || !Number.isFinite(value)) {
      throw new TypeError(`the setting ${names[0]} that was saved with the prompt is not a number`);
    }
    return [[name, value] as const];
  });
  return {
    ...(tools.length === 0 ? {} : { tools }),
    settings: {
      ...(Object.fromEntries(numbers) as Settings),
      ...(stop.length === 0 ? {} : { stop: [...stop] }),
      ...(typeof effort === "string" && effort !== "" ? { reasoningEffort: effort } : {}),
    },
  };
}

/** Returns the first value that is set under one of these names. LangChain saves unset parameters as `null`. */
const findParameter = (parameters: Parameters, names: readonly string[]): unknown =>
  names.map((name) => parameters[name]).find((value) => value !== undefined && value !== null);

function readStop(value: unknown): readonly string[] {
  const texts: readonly unknown[] = value === undefined ? [] : [value].flat();
  return texts.map((text) => {
    if (typeof text !== "string") {
      throw new TypeError("a stop sequence that was saved with the prompt is not text");
    }
    return text;
  });
}

/** Reads tools in the format of OpenAI or of Anthropic. */
function readTools(value: unknown): readonly Tool[] {
  if (value === undefined || value === null) {
    return [];
  }
  if (!Array.isArray(value)) {
    throw new TypeError("the tools that were saved with the prompt are not a list");
  }
  return (value as readonly unknown[]).map((item, index) => {
    const fields = toMembers(toMembers(item)["function"] ?? item);
    const { name, description } = fields;
    const parameters = fields["parameters"] ?? fields["input_schema"] ?? emptySchema;
    if (typeof name !== "string" || name === "" || !isMembers(parameters)) {
      throw new TypeError(
        `tool ${index + 1} that was saved with the prompt has no name, or its parameters are not a JSON schema`,
      );
    }
    return { name, ...(typeof description === "string" ? { description } : {}), parameters };
  });
}

const emptySchema = { type: "object", properties: {} };

const isMembers = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const toMembers = (value: unknown): Readonly<Record<string, unknown>> =>
  isMembers(value) ? value : {};

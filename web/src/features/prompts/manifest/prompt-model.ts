import { toItems, toNumber, toRecord, toText } from "../../../api/parse.ts";
import type { JsonMembers } from "../../../api/parse.ts";
import { toNode } from "./manifest-node.ts";
import type { LangChainNode } from "./manifest-node.ts";

/** Settings of a model that are numbers. */
export const modelNumbers = ["temperature", "maxTokens", "topP", "seed"] as const;
export type ModelNumber = (typeof modelNumbers)[number];

/** The model that was saved with a prompt. */
export interface PromptModel {
  /** The LangChain class, such as `ChatOpenAI`. */
  readonly className: string;
  /** Empty if the manifest does not name a model. */
  readonly name: string;
  readonly numbers: { readonly [Name in ModelNumber]?: number };
  readonly stop: readonly string[];
  readonly tools: readonly unknown[];
  /** All other parameters. A secret is replaced by the name of its variable: `secret OPENAI_API_KEY`. */
  readonly others: JsonMembers;
}

/** The names under which clients of LangChain save a parameter. The UI saves a new parameter under the first name. */
export const parameterNames = {
  name: ["model", "model_name", "modelName"],
  temperature: ["temperature"],
  maxTokens: ["max_tokens", "maxTokens", "max_completion_tokens", "max_output_tokens"],
  topP: ["top_p", "topP"],
  seed: ["seed"],
  stop: ["stop", "stop_sequences", "stopSequences"],
  tools: ["tools"],
} as const;

/** The maximum number of bindings around a model that are read. */
const maxBindings = 16;

/** A model within a sequence: its class, and the objects that contain its parameters, the innermost one first. */
interface FoundModel {
  readonly className: string;
  readonly parameters: readonly JsonMembers[];
}

/** Finds the model of a step; `undefined` for any other step, such as an output parser. */
function findModel(step: unknown): FoundModel | undefined {
  let node: LangChainNode | undefined = toNode(step);
  const boundParameters: JsonMembers[] = [];
  for (let depth = 0; node?.name === "RunnableBinding" && depth < maxBindings; depth += 1) {
    boundParameters.unshift(toRecord(node.kwargs["kwargs"]));
    node = toNode(node.kwargs["bound"]);
  }
  return node === undefined || node.name.endsWith("OutputParser")
    ? undefined
    : { className: node.name, parameters: [node.kwargs, ...boundParameters] };
}

/** Returns the steps of a sequence that follow its prompt. */
export const listSteps = (kwargs: JsonMembers): readonly unknown[] => [
  ...toItems(kwargs["middle"]),
  kwargs["last"],
];

/** Returns the position of the model among the steps after the prompt; -1 if there is no model. */
export const findModelStep = (steps: readonly unknown[]): number =>
  steps.findIndex((step) => findModel(step) !== undefined);

/** Reads the model of a sequence. */
export function readPromptModel(steps: readonly unknown[]): PromptModel | undefined {
  const model = findModel(steps[findModelStep(steps)]);
  if (model === undefined) {
    return undefined;
  }
  const { className, parameters } = model;
  const allParameters: JsonMembers = Object.assign({}, ...parameters) as JsonMembers;
  const read = (names: readonly string[]): unknown =>
    names.map((name) => allParameters[name]).find((value) => value !== undefined && value !== null);
  const knownNames = new Set<string>(Object.values(parameterNames).flat());
  return {
    className,
    name: toText(read(parameterNames.name)) ?? "",
    numbers: Object.fromEntries(
      modelNumbers.flatMap((name) => {
        const number = toNumber(read(parameterNames[name]));
        return number === undefined ? [] : [[name, number]];
      }),
    ),
    stop: [read(parameterNames.stop) ?? []].flat().flatMap((text) => toText(text) ?? []),
    tools: toItems(read(parameterNames.tools)),
    others: Object.fromEntries(
      Object.entries(allParameters)
        .filter(([name, value]) => !knownNames.has(name) && value !== null)
        .map(([name, value]) => [name, describeSecret(value) ?? value]),
    ),
  };
}

/** Describes a secret by the name of its variable: `secret OPENAI_API_KEY`; `undefined` for any other value. */
function describeSecret(value: unknown): string | undefined {
  const { lc, type, id } = toRecord(value);
  const name = toText(toItems(id).at(-1));
  return lc !== undefined && type === "secret" && name !== undefined ? `secret ${name}` : undefined;
}

/** Reads the name, the description and the parameters of a tool in the format of OpenAI or of Anthropic. */
export function readTool(tool: unknown): {
  readonly name: string;
  readonly description: string;
  readonly parameters: unknown;
} {
  const fields = toRecord(toRecord(tool)["function"] ?? tool);
  return {
    name: toText(fields["name"]) ?? "",
    description: toText(fields["description"]) ?? "",
    parameters: fields["parameters"] ?? fields["input_schema"],
  };
}

import { createConfiguredScorer, readPath } from "millrace/scorers";
import type { OutputScore, ScorerConfig } from "millrace/scorers";
import { compileTemplate, parseManifest, readNames, readText } from "millrace/templates";
import type { PromptTemplate } from "millrace/templates";
import { fillJudgeTemplate } from "../../judges/judge-prompt.ts";
import type { JudgePrompt } from "../../judges/judge-prompt.ts";
import { messageOf } from "../../model/errors.ts";
import type { ModelMessage } from "../../models/model-request.ts";
import type { WorkTask } from "../../storage/work-threads.ts";
import { readSavedModel } from "./saved-model.ts";
import type { SavedModel } from "./saved-model.ts";

/** The JSON of an example, as it is stored. */
export interface ExampleJson {
  readonly inputs: string;
  readonly outputs: string | null;
  readonly metadata: string;
}

/** Fills in a prompt with an example. It runs on a worker thread, because examples and templates may be large. */
export interface RenderTask extends WorkTask<Rendered> {
  readonly kind: "renderPrompt";
  /** JSON of the manifest. */
  readonly manifest: string;
  readonly example: ExampleJson;
  readonly mapping: Readonly<Record<string, string>>;
}

/** The variables of a prompt, and the members of an example that they can be mapped to. */
interface PromptNames {
  readonly variables: readonly string[];
  readonly paths: readonly string[];
}

/** The messages of a prompt, or why there are none. */
export type Rendered = PromptNames &
  (
    | {
        readonly messages: readonly ModelMessage[];
        /** The tools and the settings that the prompt was saved with. */
        readonly saved: SavedModel;
        readonly schema?: {
          readonly name: string;
          readonly schema: Readonly<Record<string, unknown>>;
        };
      }
    | { readonly error: string }
  );

/**
 * Scores an output, and fills in the prompts of judges. The worker thread is terminated if the task takes too long: a
 * regular expression may never end.
 */
export interface ScoreTask extends WorkTask<Scored> {
  readonly kind: "scoreOutput";
  readonly example: ExampleJson;
  /** JSON of the output. */
  readonly output: string;
  readonly scorers: readonly ScorerConfig[];
  readonly templates: readonly string[];
}

/** A score, or the reason why there is none. */
export type ScoreOutcome =
  | { readonly key: string; readonly score: number | boolean; readonly comment?: string }
  | { readonly key: string; readonly error: string };

/** The scores of an output, and the prompts for the LLM judges, which score it afterwards. */
export interface Scored {
  readonly scores: readonly ScoreOutcome[];
  readonly prompts: readonly JudgePrompt[];
}

/** Maximum number of variables, and of members of an example, that are listed. */
const maxNames = 100;

/** Fills in the prompt of a target with an example. */
export function renderPrompt({ manifest, example, mapping }: RenderTask): Rendered {
  const values = toValues(example);
  const paths = Object.entries(values)
    .flatMap(([part, members]) => Object.keys(toMembers(members)).map((name) => `${part}.${name}`))
    .slice(0, maxNames);
  let variables: readonly string[] = [];
  try {
    const template = parseManifest(JSON.parse(manifest) as unknown);
    variables = [...readNames(template)].slice(0, maxNames);
    return { variables, paths, ...fillIn(template, values, mapping) };
  } catch (cause) {
    return { variables, paths, error: messageOf(cause) };
  }
}

/** @throws Error a variable has no value, or a message can't be sent. */
function fillIn(
  template: PromptTemplate,
  values: ReturnType<typeof toValues>,
  mapping: Readonly<Record<string, string>>,
): Omit<Extract<Rendered, { readonly messages: unknown }>, keyof PromptNames> {
  const variableValues = Object.fromEntries(
    [...readNames(template)].flatMap((name) => {
      const path = mapping[name];
      if (path === undefined) {
        // If the inputs have no member of this name, the manifest may contain a value for the variable.
        const inputs = values.inputs as Readonly<Record<string, unknown>>;
        return Object.hasOwn(inputs, name) ? [[name, inputs[name]]] : [];
      }
      return [[name, readPath(values, path)]];
    }),
  );
  const { messages, schema, model } = compileTemplate(template, variableValues, "ignore");
  return {
    saved: readSavedModel(model),
    messages: messages.map((message): ModelMessage => {
      const content = readText(message);
      if (content === undefined) {
        throw new TypeError(
          "a message has a part that is not text; experiments can send only text",
        );
      }
      const role = message.role === "developer" ? "system" : message.role;
      return {
        role,
        content,
        ...(message.toolCallId === undefined ? {} : { toolCallId: message.toolCallId }),
        ...(message.toolCalls === undefined
          ? {}
          : {
              toolCalls: message.toolCalls.map((call) => ({
                id: call.id,
                name: call.name,
                arguments: JSON.stringify(call.arguments),
              })),
            }),
      };
    }),
    ...(schema === undefined ? {} : { schema: { name: schema.name, schema: schema.schema } }),
  };
}

/** Scores the output of a target with the scorers that need no model, and fills in the prompts of LLM judges. */
export function scoreOutput({ example, output, scorers, templates }: ScoreTask): Scored {
  const outputs: unknown = JSON.parse(output);
  const { inputs, outputs: referenceOutputs } = toValues(example);
  return {
    scores: scorers.map((config) => score(config, { outputs, referenceOutputs })),
    prompts: templates.map((template) =>
      fillJudgeTemplate(template, {
        values: {
          inputs,
          output: outputs,
          ...(referenceOutputs === undefined ? {} : { reference: referenceOutputs }),
        },
        name: "the example",
        variables: "inputs, output and reference",
      }),
    ),
  };
}

function score(
  config: ScorerConfig,
  judged: { readonly outputs: unknown; readonly referenceOutputs: unknown },
): ScoreOutcome {
  const key = readScorerKey(config);
  try {
    const result: OutputScore = createConfiguredScorer(config).evaluate(judged);
    return typeof result === "object" ? { key, ...result } : { key, score: result };
  } catch (cause) {
    return { key, error: messageOf(cause) };
  }
}

/** The feedback key of a scorer. */
export const readScorerKey = ({ scorer, options }: ScorerConfig): string => {
  const key = options?.["key"];
  return typeof key === "string" && key !== "" ? key : scorer;
};

const toMembers = (value: unknown): object =>
  typeof value === "object" && value !== null ? value : {};

const toValues = ({ inputs, outputs, metadata }: ExampleJson) => ({
  inputs: JSON.parse(inputs) as unknown,
  outputs: outputs === null ? undefined : (JSON.parse(outputs) as unknown),
  metadata: JSON.parse(metadata) as unknown,
});

import { parseTemplate, renderTemplate } from "millrace/templates";
import { messageOf } from "../model/errors.ts";
import type { WorkTask } from "../storage/work-threads.ts";
import { judgeLimits } from "./judge-schema.ts";

/** The prompt of a judge, or why its template can't be filled in. */
export type JudgePrompt = { readonly text: string } | { readonly error: string };

/** What a judge judges, as the variables of its template. */
interface JudgedSubject {
  readonly values: Readonly<Record<string, unknown>>;
  /** How error messages name what is judged, such as `the run`. */
  readonly name: string;
  /** The names of the variables that a template may use, for error messages. */
  readonly variables: string;
}

/** Fills in the template of a judge with a run. It runs on a worker thread, because runs and templates may be large. */
export interface JudgePromptTask extends WorkTask<JudgePrompt> {
  readonly kind: "fillJudgePrompt";
  readonly template: string;
  /** JSON of the inputs and of the outputs. */
  readonly inputs: string;
  readonly outputs: string | null;
}

/** The variables of the template of a judge of runs. */
const runVariables = ["inputs", "output"] as const;

/** Fills in the template of a judge with the inputs and outputs of a run. */
export function fillJudgePrompt({ template, inputs, outputs }: JudgePromptTask): JudgePrompt {
  const values = {
    inputs: JSON.parse(inputs) as unknown,
    ...(outputs === null ? {} : { output: JSON.parse(outputs) as unknown }),
  };
  return fillJudgeTemplate(template, {
    values,
    name: "the run",
    variables: runVariables.join(" and "),
  });
}

export function fillJudgeTemplate(
  template: string,
  { values, name, variables }: JudgedSubject,
): JudgePrompt {
  const scope = { values, missing: new Set<string>() };
  let text: string;
  try {
    text = renderTemplate(parseTemplate(template, "mustache"), scope);
  } catch (cause) {
    return { error: messageOf(cause) };
  }
  const [missing] = scope.missing;
  if (missing !== undefined) {
    return { error: `${name} has no ${missing}: the variables are ${variables}` };
  }
  return text.length > judgeLimits.promptChars
    ? {
        error: `the filled-in prompt of the judge has ${text.length.toLocaleString("en")} characters, but at most ${judgeLimits.promptChars.toLocaleString("en")} are sent. Use only some members of inputs and output in the template`,
      }
    : { text };
}

/** Returns why a template can't be used to judge runs; `undefined` if it can. */
export function findTemplateFault(template: string): string | undefined {
  try {
    const { names } = parseTemplate(template, "mustache");
    const knownVariables: readonly string[] = runVariables;
    const unknown = [...names].find((name) => !knownVariables.includes(name));
    return unknown === undefined
      ? undefined
      : `the template uses ${JSON.stringify(unknown)}: a run has the variables ${knownVariables.join(" and ")}, and their members`;
  } catch (cause) {
    return messageOf(cause);
  }
}

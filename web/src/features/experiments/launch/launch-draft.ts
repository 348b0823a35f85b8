import { findJudgeFaults, toJudgeBody } from "../../models/judge-draft.ts";
import type { JudgeDraft, JudgeFaults } from "../../models/judge-draft.ts";
import { createModelDraft, findModelFaults, toModelBody } from "../../models/model-draft.ts";
import type { ModelDraft, ModelFaults } from "../../models/model-draft.ts";
import { shortenHash } from "../../prompts/prompt.ts";
import type { LaunchSearch } from "./launch-search.ts";

export interface ScorerDraft {
  /** The name by which the server identifies the scorer. */
  readonly scorer: string;
  /** The entered text of each option; for a flag, `true` or `false`. */
  readonly options: Readonly<Record<string, string>>;
}

/** What the user has entered on the page of a new experiment. */
export interface LaunchDraft {
  /** `repo`, `repo:commit` or `owner/repo:commit`. */
  readonly prompts: readonly string[];
  readonly models: readonly ModelDraft[];
  /** Empty for all examples. */
  readonly split: string;
  /** A tag or the time of a version; empty for the latest version. */
  readonly version: string;
  readonly repetitions: number;
  readonly concurrency: number;
  /** The path of the example's member that replaces a variable, such as `inputs.question`, by the variable's name. */
  readonly mapping: Readonly<Record<string, string>>;
  readonly scorers: readonly ScorerDraft[];
  readonly judges: readonly JudgeDraft[];
}

/** @param endpoints - the names of the server's endpoints. The first is chosen unless the URL names another one. */
export const createDraft = (
  { prompt, split = "", asOf = "", models = [{ endpoint: "", model: "" }] }: LaunchSearch,
  endpoints: readonly string[],
): LaunchDraft => ({
  prompts: prompt === undefined ? [] : [prompt],
  models: models.map(({ endpoint, model }) => ({
    ...createModelDraft(endpoints.includes(endpoint) ? endpoint : (endpoints[0] ?? "")),
    model,
  })),
  split,
  version: asOf,
  repetitions: 1,
  concurrency: 4,
  mapping: {},
  scorers: [],
  judges: [],
});

export interface ScorerField {
  readonly name: string;
  readonly title: string;
  readonly hint: string;
  readonly kind: "text" | "flag" | "number" | "list" | "json";
  readonly isRequired: boolean;
}

/** The fields to enter the options of a scorer, as the server describes them. */
export interface ScorerForm {
  readonly scorer: string;
  readonly title: string;
  readonly hint: string;
  readonly fields: readonly ScorerField[];
}

/** The body of the requests that estimate and start experiments. */
export type LaunchBody = Readonly<Record<string, unknown>>;

/** Why the entered values are not valid, for each field. */
export interface LaunchFaults {
  readonly prompts?: string;
  /** In the order of the models, scorers and judges. A scorer has an error message for each invalid option. */
  readonly models: readonly ModelFaults[];
  readonly scorers: readonly Readonly<Record<string, string>>[];
  readonly judges: readonly JudgeFaults[];
}

/** Either why an experiment can't start yet, or the body of the request that starts it. */
export type LaunchResult =
  | { readonly faults: LaunchFaults }
  /** `targetCount` is the number of experiments: one for each combination of a prompt and a model. */
  | { readonly body: LaunchBody; readonly targetCount: number };

/** The maximum number of experiments that one request starts. */
const maxExperiments = 20;

/** Checks the entered values, and converts them to the body of a request. */
export function toLaunchBody(
  datasetId: string,
  draft: LaunchDraft,
  forms: readonly ScorerForm[],
): LaunchResult {
  const { prompts, models, judges, mapping } = draft;
  const targetCount = prompts.length * models.length;
  const scorers = draft.scorers.map((scorer) => toScorer(scorer, forms));
  const promptFault = findPromptFault(prompts.length, targetCount);
  const faults: LaunchFaults = {
    ...(promptFault !== undefined && { prompts: promptFault }),
    models: models.map(findModelFaults),
    scorers: scorers.map((scorer) => scorer.faults),
    judges: judges.map(findJudgeFaults),
  };
  if (listFaults(faults).length > 0) {
    return { faults };
  }
  return {
    targetCount,
    body: {
      dataset_id: datasetId,
      ...(draft.split === "" ? {} : { splits: [draft.split] }),
      ...(draft.version.trim() === "" ? {} : { as_of: draft.version.trim() }),
      repetitions: draft.repetitions,
      concurrency: draft.concurrency,
      mapping: Object.fromEntries(Object.entries(mapping).filter(([, path]) => path !== "")),
      scorers: scorers.map(({ scorer, options }) => ({ scorer, options })),
      judges: judges.map(toJudgeBody),
      targets: prompts.flatMap((prompt) =>
        models.map((model) => ({
          name: `${shortenCommit(prompt)} · ${model.model.trim()}${describeSettings(model)}`.slice(
            0,
            200,
          ),
          prompt,
          ...toModelBody(model),
        })),
      ),
    },
  };
}

/** Lists the error messages without duplicates, in the order of the fields. */
export const listFaults = ({
  prompts,
  models,
  scorers,
  judges,
}: LaunchFaults): readonly string[] => [
  ...new Set([
    ...(prompts === undefined ? [] : [prompts]),
    ...[...models, ...scorers, ...judges].flatMap((fields) => Object.values(fields)),
  ]),
];

function findPromptFault(promptCount: number, targetCount: number): string | undefined {
  if (promptCount === 0) {
    return "Choose a prompt.";
  }
  return targetCount > maxExperiments
    ? `${targetCount} experiments are too many. Choose at most ${maxExperiments} combinations of a prompt and a model.`
    : undefined;
}

/** Shortens the commit hash in a prompt's name, so that a list has space for the model that follows it. */
const shortenCommit = (prompt: string): string =>
  prompt.replace(/:[\da-f]{16,}$/, (commit) => `:${shortenHash(commit.slice(1))}`);

const describeSettings = ({ temperature }: ModelDraft): string =>
  temperature.trim() === "" ? "" : ` · ${temperature.trim()}`;

interface Scorer {
  readonly scorer: string;
  readonly options: Readonly<Record<string, unknown>>;
  /** Error messages by the name of the option. */
  readonly faults: Readonly<Record<string, string>>;
}

function toScorer({ scorer, options }: ScorerDraft, forms: readonly ScorerForm[]): Scorer {
  const form = forms.find((candidate) => candidate.scorer === scorer);
  const values: Record<string, unknown> = {};
  const faults: Record<string, string> = {};
  for (const { name, title, kind, isRequired } of form?.fields ?? []) {
    const text = options[name] ?? "";
    const isEmpty = text.trim() === "";
    const value = isEmpty ? undefined : toValue(text, kind);
    if (value !== undefined) {
      values[name] = value;
    } else if (!isEmpty) {
      faults[name] = `${form?.title ?? scorer}: ${title} must be a number of at least 0.`;
    } else if (isRequired) {
      faults[name] = `${form?.title ?? scorer}: enter ${title.toLowerCase()}.`;
    }
  }
  return { scorer, options: values, faults };
}

/** Converts the text of a field to its value; `undefined` if the text is not valid. */
function toValue(text: string, kind: ScorerField["kind"]): unknown {
  switch (kind) {
    case "flag":
      return text === "true";
    case "number": {
      const number = Number(text);
      return Number.isFinite(number) && number >= 0 ? number : undefined;
    }
    case "list":
      return text
        .split(",")
        .map((item) => item.trim())
        .filter((item) => item !== "");
    case "json":
      try {
        return JSON.parse(text) as unknown;
      } catch {
        return text; // Text that is not JSON is used as it is, so a string needs no quotation marks.
      }
    case "text":
      return text;
  }
}

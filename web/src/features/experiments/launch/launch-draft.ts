import { findJudgeFaults, toJudgeBody } from "../../models/judge-draft.ts";
import type { JudgeDraft } from "../../models/judge-draft.ts";
import { createModelDraft, findModelFaults, toModelBody } from "../../models/model-draft.ts";
import type { ModelDraft } from "../../models/model-draft.ts";
import type { LaunchSearch } from "./launch-search.ts";

export interface ScorerDraft {
  readonly scorer: string;
  /** The entered text of each option; `true` or `false` for a flag. */
  readonly options: Readonly<Record<string, string>>;
}

/** What the user has entered on the page of a new experiment. */
export interface LaunchDraft {
  /** `repo`, `repo:commit` or `owner/repo:commit`. */
  readonly prompts: readonly string[];
  readonly models: readonly ModelDraft[];
  /** Empty for all examples. */
  readonly split: string;
  /** A tag or a time; empty for the latest version. */
  readonly version: string;
  readonly repetitions: number;
  readonly concurrency: number;
  /** By the name of a variable, the path of the example's member that replaces it, such as `inputs.question`. */
  readonly mapping: Readonly<Record<string, string>>;
  readonly scorers: readonly ScorerDraft[];
  readonly judges: readonly JudgeDraft[];
}

export const createDraft = (
  { prompt, split = "", asOf = "" }: LaunchSearch,
  endpoint: string,
): LaunchDraft => ({
  prompts: prompt === undefined ? [] : [prompt],
  models: [createModelDraft(endpoint)],
  split,
  version: asOf,
  repetitions: 1,
  concurrency: 4,
  mapping: {},
  scorers: [],
  judges: [],
});

/** An option of a scorer. */
export interface ScorerField {
  readonly name: string;
  readonly title: string;
  readonly hint: string;
  readonly kind: "text" | "flag" | "number" | "list" | "json";
  readonly isRequired: boolean;
}

export interface ScorerForm {
  readonly scorer: string;
  readonly title: string;
  readonly hint: string;
  readonly fields: readonly ScorerField[];
}

/** The body of the requests that estimate and start experiments. */
export type LaunchBody = Readonly<Record<string, unknown>>;

/** Why an experiment can't start yet, or the body of the request. */
export type LaunchResult =
  | { readonly faults: readonly string[] }
  | { readonly body: LaunchBody; readonly targetCount: number };

/** The maximum number of experiments that one request starts. */
const maxTargets = 20;

/** Checks the entered values, and converts them to the body of a request. */
export function toLaunchBody(
  datasetId: string,
  draft: LaunchDraft,
  forms: readonly ScorerForm[],
): LaunchResult {
  const { prompts, models, judges, mapping } = draft;
  const targetCount = prompts.length * models.length;
  const scorers = draft.scorers.map((scorer) => toScorer(scorer, forms));
  const faults = [
    ...(prompts.length === 0 ? ["Choose a prompt."] : []),
    ...(models.some(({ model }) => model.trim() === "") ? ["Enter the name of each model."] : []),
    ...(targetCount > maxTargets
      ? [`${targetCount} experiments are too many: choose at most ${maxTargets} combinations.`]
      : []),
    ...models.flatMap(findModelFaults),
    ...scorers.flatMap((scorer) => ("fault" in scorer ? [scorer.fault] : [])),
    ...judges.flatMap(findJudgeFaults),
  ];
  if (faults.length > 0) {
    return { faults: [...new Set(faults)] };
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
      scorers,
      judges: judges.map(toJudgeBody),
      targets: prompts.flatMap((prompt) =>
        models.map((model) => ({
          name: `${prompt} · ${model.model.trim()}${describeSettings(model)}`.slice(0, 200),
          prompt,
          ...toModelBody(model),
        })),
      ),
    },
  };
}

const describeSettings = ({ temperature }: ModelDraft): string =>
  temperature.trim() === "" ? "" : ` · ${temperature.trim()}`;

type Scorer =
  | { readonly scorer: string; readonly options: Readonly<Record<string, unknown>> }
  | { readonly fault: string };

function toScorer({ scorer, options }: ScorerDraft, forms: readonly ScorerForm[]): Scorer {
  const form = forms.find((candidate) => candidate.scorer === scorer);
  const values: Record<string, unknown> = {};
  for (const { name, title, kind, isRequired } of form?.fields ?? []) {
    const text = options[name] ?? "";
    if (text.trim() === "") {
      if (isRequired) {
        return { fault: `${form?.title ?? scorer}: enter ${title.toLowerCase()}.` };
      }
      continue;
    }
    const value = toValue(text, kind);
    if (value === undefined) {
      return { fault: `${form?.title ?? scorer}: ${title} must be a number of at least 0.` };
    }
    values[name] = value;
  }
  return { scorer, options: values };
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
        return text; // Not valid JSON, so it is used as a text: texts may be entered without quotation marks.
      }
    case "text":
      return text;
  }
}

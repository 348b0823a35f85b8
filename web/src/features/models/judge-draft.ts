import { toItems, toNumber, toRecord, toText } from "../../api/parse.ts";
import { createModelDraft, findModelFaults, toModelBody } from "./model-draft.ts";
import type { ModelDraft, ModelFaults } from "./model-draft.ts";

/** The labels of the kinds of results that a judge can give. */
export const judgeResultLabels = {
  score: "Score from 0 to 1",
  verdict: "Yes or no",
  categories: "Categories",
};
export type JudgeResultKind = keyof typeof judgeResultLabels;

/** A judge as the user has entered it. */
export interface JudgeDraft extends ModelDraft {
  /** The feedback key under which the results are stored. */
  readonly key: string;
  readonly template: string;
  /** The kind of result, which requests call `form`. */
  readonly form: JudgeResultKind;
  /** Names of categories, separated by commas. */
  readonly categories: string;
}

/** Creates a judge for the outputs of an experiment. */
export const createJudgeDraft = (endpoint: string): JudgeDraft => ({
  ...createModelDraft(endpoint),
  key: "quality",
  template:
    "Question:\n{{inputs}}\n\nAnswer to judge:\n{{output}}\n\nExpected:\n{{reference}}\n\nIs the answer correct and complete?",
  form: "score",
  categories: "",
});

/** Creates a judge for runs, which have no reference outputs. */
export const createRunJudgeDraft = (endpoint: string): JudgeDraft => ({
  ...createJudgeDraft(endpoint),
  template:
    "Input:\n{{inputs}}\n\nAnswer to judge:\n{{output}}\n\nIs the answer helpful and complete?",
});

/** Converts a judge to its members in the body of a request. */
export const toJudgeBody = (judge: JudgeDraft) => ({
  key: judge.key.trim(),
  template: judge.template,
  form:
    judge.form === "categories"
      ? { kind: judge.form, categories: toCategories(judge) }
      : { kind: judge.form },
  ...toModelBody(judge),
});

/** Parses a judge that {@link toJudgeBody} has created; `undefined` for any other value. */
export function parseJudge(value: unknown): JudgeDraft | undefined {
  const members = toRecord(value);
  const form = toRecord(members["form"]);
  const kind = (Object.keys(judgeResultLabels) as JudgeResultKind[]).find(
    (name) => name === form["kind"],
  );
  const [key, template, endpoint, model] = ["key", "template", "endpoint", "model"].map((name) =>
    toText(members[name]),
  );
  if (
    kind === undefined ||
    key === undefined ||
    template === undefined ||
    endpoint === undefined ||
    model === undefined
  ) {
    return undefined;
  }
  return {
    key,
    template,
    endpoint,
    model,
    temperature: String(toNumber(members["temperature"]) ?? ""),
    maxTokens: String(toNumber(members["max_tokens"]) ?? ""),
    form: kind,
    categories: toItems(form["categories"])
      .filter((name): name is string => typeof name === "string")
      .join(", "),
  };
}

/** Error messages for the invalid fields of a judge. */
export type JudgeFaults = ModelFaults & {
  readonly [Field in "key" | "template" | "categories"]?: string;
};

export const findJudgeFaults = (judge: JudgeDraft): JudgeFaults => ({
  ...(judge.key.trim() === "" && { key: "Enter the feedback key of the judge." }),
  ...(judge.form === "categories" &&
    toCategories(judge).length < 2 && {
      categories: "Enter at least two categories for the judge, separated by commas.",
    }),
  ...(judge.template.trim() === "" && { template: "Enter the prompt of the judge." }),
  ...findModelFaults(judge),
});

const toCategories = ({ categories }: JudgeDraft): readonly string[] => [
  ...new Set(
    categories
      .split(",")
      .map((name) => name.trim())
      .filter((name) => name !== ""),
  ),
];

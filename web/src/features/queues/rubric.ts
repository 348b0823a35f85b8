import { toItems, toRecord, toText } from "../../api/parse.ts";
import type { Members } from "../../api/parse.ts";

/** One of the answers that a question offers. */
export interface Choice {
  readonly label: string;
  /** What is recorded: a score, a value, or both. */
  readonly score?: number;
  readonly value?: string;
  /** What it means. */
  readonly about?: string;
}

interface InputBase {
  /** The key of the feedback. */
  readonly key: string;
  readonly about: string;
  readonly isRequired: boolean;
}

/** One question of a queue's rubric, as the review page asks it. */
export type ScoreInput = InputBase &
  (
    | { readonly kind: "continuous"; readonly min: number; readonly max: number }
    | { readonly kind: "categorical"; readonly choices: readonly Choice[] }
    | { readonly kind: "freeform" }
  );

/** What a reviewer answered. */
export interface Answer {
  readonly score?: number;
  readonly value?: string;
}

/**
 * How a rubric item is asked: as its `feedback_config` says, else by the scores or values that it describes; an
 * assertion is yes or no, and what says nothing a number from 0 to 1. `undefined`: it has no key.
 */
export function toScoreInput(item: Members): ScoreInput | undefined {
  const key = toText(item["feedback_key"]);
  if (key === undefined || key === "") {
    return undefined;
  }
  const base: InputBase = {
    key,
    about: toText(item["description"]) ?? "",
    isRequired: item["is_required"] === true,
  };
  const configured = fromConfig(toRecord(item["feedback_config"]), item);
  if (configured !== undefined) {
    return { ...base, ...configured };
  }
  const choices = describedChoices(item);
  if (choices.length > 0) {
    return { ...base, kind: "categorical", choices };
  }
  return item["is_assertion"] === true
    ? { ...base, kind: "categorical", choices: yesOrNo }
    : { ...base, kind: "continuous", min: 0, max: 1 };
}

/** The answers of a question that is true or false. */
export const yesOrNo: readonly Choice[] = [
  { label: "Yes", score: 1 },
  { label: "No", score: 0 },
];

type FeedbackConfig =
  | { readonly kind: "continuous"; readonly min: number; readonly max: number }
  | { readonly kind: "categorical"; readonly choices: readonly Choice[] }
  | { readonly kind: "freeform" };

function fromConfig(config: Members, item: Members): FeedbackConfig | undefined {
  switch (config["type"]) {
    case "freeform":
      return { kind: "freeform" };
    case "categorical": {
      const meanings = toRecord(item["score_descriptions"]);
      const choices = toItems(config["categories"])
        .map(toRecord)
        .flatMap(({ value, label }): Choice[] => {
          if (typeof value !== "number") {
            return [];
          }
          const about = toText(meanings[String(value)]);
          return [
            {
              label: toText(label) ?? String(value),
              score: value,
              ...(typeof label === "string" ? { value: label } : {}),
              ...(about === undefined ? {} : { about }),
            },
          ];
        });
      return choices.length === 0 ? undefined : { kind: "categorical", choices };
    }
    case "continuous": {
      const min = typeof config["min"] === "number" ? config["min"] : 0;
      const max = typeof config["max"] === "number" ? config["max"] : Math.max(1, min + 1);
      return max > min ? { kind: "continuous", min, max } : undefined;
    }
    default:
      return undefined;
  }
}

function describedChoices(item: Members): readonly Choice[] {
  const scores = Object.entries(toRecord(item["score_descriptions"]))
    .filter(([score]) => score.trim() !== "" && Number.isFinite(Number(score)))
    .map(([score, about]): Choice => ({ label: score, score: Number(score), about: String(about) }))
    .toSorted((one, other) => (one.score ?? 0) - (other.score ?? 0));
  return scores.length > 0
    ? scores
    : Object.entries(toRecord(item["value_descriptions"])).map(([value, about]) => ({
        label: value,
        value,
        about: String(about),
      }));
}

/** Whether an answer is this choice. */
export const isChosen = (choice: Choice, answer: Answer | undefined): boolean =>
  answer !== undefined && answer.score === choice.score && answer.value === choice.value;

/** The answer that a choice stands for. */
export const toAnswer = ({ score, value }: Choice): Answer => ({
  ...(score === undefined ? {} : { score }),
  ...(value === undefined ? {} : { value }),
});

/**
 * What a number key answers: the choice at that place from 1, the number itself where the range holds it, else so many
 * tenths of the range, 0 being all of it. `undefined`: nothing.
 */
export function answerOfDigit(input: ScoreInput, digit: number): Answer | undefined {
  switch (input.kind) {
    case "freeform":
      return undefined;
    case "categorical": {
      const choice = input.choices[(digit + 9) % 10];
      return choice === undefined ? undefined : toAnswer(choice);
    }
    case "continuous": {
      const { min, max } = input;
      const isScale = Number.isInteger(min) && Number.isInteger(max) && max - min > 1 && max < 10;
      if (isScale) {
        return digit >= min && digit <= max ? { score: digit } : undefined;
      }
      const share = digit === 0 ? 1 : digit / 10;
      return { score: Number((min + (max - min) * share).toPrecision(12)) };
    }
  }
}

/** The steps of a range: whole numbers where it spans more than two, else hundredths of it. */
export const stepOf = ({ min, max }: { readonly min: number; readonly max: number }): number =>
  Number.isInteger(min) && Number.isInteger(max) && max - min > 2 ? 1 : (max - min) / 100;

/** How feedback describes its scores. */
export function toFeedbackConfig(input: ScoreInput): Members | undefined {
  switch (input.kind) {
    case "freeform":
      return { type: "freeform" };
    case "continuous":
      return { type: "continuous", min: input.min, max: input.max };
    case "categorical": {
      const categories = input.choices.flatMap(({ score, label }) =>
        score === undefined ? [] : [{ value: score, label }],
      );
      return categories.length === input.choices.length
        ? { type: "categorical", categories }
        : undefined;
    }
  }
}

/** The rubric item of a question, as the server keeps it. */
export function toRubricItem(input: ScoreInput): Members {
  const item = {
    feedback_key: input.key,
    ...(input.about === "" ? {} : { description: input.about }),
    is_required: input.isRequired,
  };
  const config = toFeedbackConfig(input);
  if (config !== undefined) {
    return { ...item, feedback_config: config };
  }
  const choices = input.kind === "categorical" ? input.choices : [];
  const described = choices.map(({ label, about }) => [label, about ?? ""]);
  return { ...item, value_descriptions: Object.fromEntries(described) as Members };
}

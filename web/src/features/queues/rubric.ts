import { toItems, toRecord, toText } from "../../api/parse.ts";
import type { JsonMembers } from "../../api/parse.ts";

/** One of the choices that a question offers. */
export interface Choice {
  readonly label: string;
  /** The score of the feedback that selecting this choice records. A choice has a `score`, a `value` or both. */
  readonly score?: number;
  readonly value?: string;
  /** Explains the choice. */
  readonly description?: string;
}

interface QuestionBase {
  /** Key of the feedback that records the answer. */
  readonly key: string;
  /** Explains the question; may be empty. */
  readonly description: string;
  readonly isRequired: boolean;
}

/** One question of a queue's rubric. */
export type RubricQuestion = QuestionBase &
  (
    | { readonly kind: "continuous"; readonly min: number; readonly max: number }
    | { readonly kind: "categorical"; readonly choices: readonly Choice[] }
    | { readonly kind: "freeform" }
  );

/** A reviewer's answer to a question. */
export interface Answer {
  readonly score?: number;
  readonly value?: string;
}

/**
 * Converts a rubric item to a question. The item's `feedback_config` determines the kind of question. If it is missing
 * or invalid, an item with `score_descriptions` or `value_descriptions` becomes a question with these choices, an item
 * with `is_assertion: false` asks for a number from 0 to 1, and any other item becomes a yes/no question. Returns
 * `undefined` if the item has no feedback key.
 */
export function toRubricQuestion(item: JsonMembers): RubricQuestion | undefined {
  const key = toText(item["feedback_key"]);
  if (key === undefined || key === "") {
    return undefined;
  }
  const base: QuestionBase = {
    key,
    description: toText(item["description"]) ?? "",
    isRequired: item["is_required"] === true,
  };
  const feedbackConfig = parseFeedbackConfig(toRecord(item["feedback_config"]), item);
  if (feedbackConfig !== undefined) {
    return { ...base, ...feedbackConfig };
  }
  const choices = parseDescribedChoices(item);
  if (choices.length > 0) {
    return { ...base, kind: "categorical", choices };
  }
  return item["is_assertion"] === false
    ? { ...base, kind: "continuous", min: 0, max: 1 }
    : { ...base, kind: "categorical", choices: yesNoChoices };
}

/** The choices of a yes/no question. */
export const yesNoChoices: readonly Choice[] = [
  { label: "Yes", score: 1 },
  { label: "No", score: 0 },
];

type FeedbackConfig =
  | { readonly kind: "continuous"; readonly min: number; readonly max: number }
  | { readonly kind: "categorical"; readonly choices: readonly Choice[] }
  | { readonly kind: "freeform" };

function parseFeedbackConfig(config: JsonMembers, item: JsonMembers): FeedbackConfig | undefined {
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
          const description = toText(meanings[String(value)]);
          return [
            {
              label: toText(label) ?? String(value),
              score: value,
              ...(typeof label === "string" ? { value: label } : {}),
              ...(description === undefined ? {} : { description }),
            },
          ];
        });
      return choices.length === 0 ? undefined : { kind: "categorical", choices };
    }
    case "continuous": {
      const min = typeof config["min"] === "number" ? config["min"] : 0;
      const max = typeof config["max"] === "number" ? config["max"] : Math.max(1, min + 1);
      return max > min ? { kind: "continuous", min, max } : { kind: "continuous", min: 0, max: 1 };
    }
    default:
      return undefined;
  }
}

function parseDescribedChoices(item: JsonMembers): readonly Choice[] {
  const scoredChoices = Object.entries(toRecord(item["score_descriptions"]))
    .filter(([score]) => score.trim() !== "" && Number.isFinite(Number(score)))
    .map(([score, description]): Choice => ({
      label: score,
      score: Number(score),
      description: String(description),
    }))
    .toSorted((left, right) => (left.score ?? 0) - (right.score ?? 0));
  return scoredChoices.length > 0
    ? scoredChoices
    : Object.entries(toRecord(item["value_descriptions"])).map(([value, description]) => ({
        label: value,
        value,
        description: String(description),
      }));
}

/** Whether an answer is the one that a choice records. */
export const isChosen = (choice: Choice, answer: Answer | undefined): boolean =>
  answer !== undefined && answer.score === choice.score && answer.value === choice.value;

/** The answer that a choice records. */
export const toAnswer = ({ score, value }: Choice): Answer => ({
  ...(score === undefined ? {} : { score }),
  ...(value === undefined ? {} : { value }),
});

/**
 * Returns the answer that a digit key selects; `undefined` if it selects none. For a question with choices, keys 1 to 9
 * select the first nine choices, and 0 the tenth. If the minimum and the maximum are whole numbers below 10 that differ
 * by more than 1, the digit is the score. For any other range of scores, key n selects the point n tenths of the way
 * from the minimum to the maximum, and 0 selects the maximum.
 */
export function toDigitAnswer(question: RubricQuestion, digit: number): Answer | undefined {
  switch (question.kind) {
    case "freeform":
      return undefined;
    case "categorical": {
      const choice = question.choices[(digit + 9) % 10];
      return choice === undefined ? undefined : toAnswer(choice);
    }
    case "continuous": {
      const { min, max } = question;
      const isIntegerScale =
        Number.isInteger(min) && Number.isInteger(max) && max - min > 1 && max < 10;
      if (isIntegerScale) {
        return digit >= min && digit <= max ? { score: digit } : undefined;
      }
      const fraction = digit === 0 ? 1 : digit / 10;
      return { score: Number((min + (max - min) * fraction).toPrecision(12)) };
    }
  }
}

/**
 * The step of a slider: 1 if the minimum and the maximum are whole numbers that differ by more than 2, otherwise a
 * hundredth of the range.
 */
export const toSliderStep = ({
  min,
  max,
}: {
  readonly min: number;
  readonly max: number;
}): number =>
  Number.isInteger(min) && Number.isInteger(max) && max - min > 2 ? 1 : (max - min) / 100;

/** The `feedback_config` of a question. Returns `undefined` if a choice has no score, which the format requires. */
export function toFeedbackConfig(question: RubricQuestion): JsonMembers | undefined {
  switch (question.kind) {
    case "freeform":
      return { type: "freeform" };
    case "continuous":
      return { type: "continuous", min: question.min, max: question.max };
    case "categorical": {
      const categories = question.choices.flatMap(({ score, label }) =>
        score === undefined ? [] : [{ value: score, label }],
      );
      return categories.length === question.choices.length
        ? { type: "categorical", categories }
        : undefined;
    }
  }
}

/** Converts a question to a rubric item in the server's format. */
export function toRubricItem(question: RubricQuestion): JsonMembers {
  const item = {
    feedback_key: question.key,
    ...(question.description === "" ? {} : { description: question.description }),
    is_required: question.isRequired,
  };
  const config = toFeedbackConfig(question);
  if (config !== undefined) {
    return { ...item, feedback_config: config };
  }
  const choices = question.kind === "categorical" ? question.choices : [];
  const descriptions = choices.map(({ label, description }) => [label, description ?? ""]);
  return { ...item, value_descriptions: Object.fromEntries(descriptions) as JsonMembers };
}
